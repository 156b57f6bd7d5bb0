import { AsyncLocalStorage } from "node:async_hooks";
import type { Modules, Scope } from "../runtime.js";
import { type CancelTimer, type Clock, sleepBy, type Timers } from "../time.js";

/** What setTimeout takes at most; it fires at once when it is given more. */
const LONGEST = 2 ** 31 - 1;

export function nodeTimers(): Timers {
  return { sleep: (milliseconds, signal) => sleepBy(after, milliseconds, signal), after };
}

function after(milliseconds: number, action: () => void): CancelTimer {
  if (milliseconds <= 0) {
    // setTimeout waits a millisecond, which is a long time for who only lets others go first.
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

/** Modules as Node loads them. */
export function nodeModules(): Modules {
  return { load: (load) => load() };
}

/** A scope that slows every promise of the process down a little, from its first use on. */
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
