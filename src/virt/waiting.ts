import type { CancelTimer, Timers } from "../runtime/time.js";

/** Milliseconds after which, again and again, it is said what is waited for. */
const PERIOD = 10_000;

export interface Wait {
  /** Milliseconds that are waited at most; 0: for ever. */
  readonly limit: number;
  /** Is called every 10 s with the milliseconds that have passed. */
  readonly onProgress: (passed: number) => void;
  readonly tooLong: () => void;
}

/** Watches over something that is waited for. @returns what ends the watch: it has come */
export function waitFor(timers: Timers, { limit, onProgress, tooLong }: Wait): CancelTimer {
  let cancel: CancelTimer = () => {};
  const wait = (passed: number): void => {
    const step = limit === 0 ? PERIOD : Math.min(PERIOD, limit - passed);
    cancel = timers.after(step, () => {
      if (passed + step === limit) {
        tooLong();
        return;
      }
      onProgress(passed + step);
      wait(passed + step);
    });
  };
  wait(0);
  return () => cancel();
}

/** What a driver is waited for. */
export interface Awaited {
  readonly driver: string;
  readonly method: string;
  readonly instanceUuid?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds that it may take; 0: any time. */
  readonly limit: number;
}

/** `spawn of driver mine, for instance …, on behalf of req-…, for 20 s now, at most 3600 s` */
export function waitText({ driver, method, instanceUuid, requestId, limit }: Awaited, passed: number): string {
  return [
    `${method} of driver ${driver}`,
    ...(instanceUuid === undefined ? [] : [`for instance ${instanceUuid}`]),
    ...(requestId === undefined ? [] : [`on behalf of ${requestId}`]),
    `for ${Math.round(passed / 1000)} s now`,
    limit === 0 ? "without a limit" : `at most ${limit / 1000} s`,
  ].join(", ");
}
