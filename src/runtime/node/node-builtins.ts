import { AsyncLocalStorage } from "node:async_hooks";
import type { Modules, Scope } from "../runtime.js";
import { type CancelTimer, type Clock, sleepBy, type Timers } from "../time.js";

/** The max delay of setTimeout; with a larger one it fires immediately. */
const LONGEST = 2 ** 31 - 1;

export function nodeTimers(): Timers {
  return { sleep: (milliseconds, signal) => sleepBy(after, milliseconds, signal), after };
}

function after(milliseconds: number, action: () => void): CancelTimer {
  if (milliseconds <= 0) {
    // setTimeout would wait for at least a millisecond, which is too long for merely yielding.
    const turn = setImmediate(action);
    return () => clearImmediate(turn);
  }
  if (milliseconds > LONGEST) {
    return afterLong(milliseconds, action);
  }
  const timer = setTimeout(action, milliseconds);
  return () => clearTimeout(timer);
}

function afterLong(milliseconds: number, action: () => void): CancelTimer {
  let cancel = after(LONGEST, () => {
    cancel = after(milliseconds - LONGEST, action);
  });
  return () => cancel();
}

export function nodeClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
  };
}

export function nodeModules(): Modules {
  return { load: (load) => load() };
}

/** Creates a scope based on AsyncLocalStorage, which slows all promises of the process slightly from its first use. */
export function nodeScope<T>(): Scope<T> {
  const storage = new AsyncLocalStorage<T>();
  return {
    get current() {
      return storage.getStore();
    },
    run: (owner, work) => storage.run(owner, work),
    leave: (work) => storage.exit(work),
  };
}
