import { sleepBy } from "../sleep-by.js";
import type { CancelTimer, Timers } from "../timers.js";

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
