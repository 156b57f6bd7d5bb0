import type { CancelTimer, Timers } from "../timers.js";

/** What setTimeout takes at most; it fires at once when it is given more. */
const LONGEST = 2 ** 31 - 1;

export const nodeTimers = (): Timers => ({ sleep, after });

function after(milliseconds: number, action: () => void): CancelTimer {
  let timer: NodeJS.Timeout;
  const wait = (left: number) => {
    timer = left > LONGEST ? setTimeout(() => wait(left - LONGEST), LONGEST) : setTimeout(action, left);
  };
  wait(milliseconds);
  return () => clearTimeout(timer);
}

async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = after(milliseconds, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
