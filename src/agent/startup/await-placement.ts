import { ConnectFailure } from "../../placement-client/errors.js";
import { retry } from "../../runtime/retry.js";
import type { AgentView } from "../context.js";

/** Milliseconds between two tries. */
const PAUSE = 2_000;
/** Milliseconds between two lines of the log. */
const REPORT_INTERVAL_MS = 10_000;

/**
 * Does what start-up cannot do without Placement, again and again while nothing answers there: its absence is waited out, as
 * the conductor's is (spec 3.1 OPT). `work` must find out by itself what has been done. Any answer ends the wait.
 * @param purpose for the log: `start-up waits for Placement, to <purpose>`
 * @param signal ends the wait; rejects with its reason.
 * @throws what `work` throws, but {@link ConnectFailure}
 */
export async function awaitPlacement<T>(
  { logger, runtime: { timers } }: Pick<AgentView, "logger" | "runtime">,
  purpose: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  let reason: string | null = null;
  let cancel = () => {};
  const report = () => {
    logger.warn(`start-up waits for Placement, to ${purpose}: ${reason}`);
    cancel = timers.after(REPORT_INTERVAL_MS, report);
  };
  try {
    return await retry(timers, work, {
      attempts: Number.POSITIVE_INFINITY,
      delay: () => PAUSE,
      retryOn: (error) => error instanceof ConnectFailure,
      onRetry: ({ message }) => {
        const first = reason === null;
        reason = message;
        if (first) {
          report();
        }
      },
      signal,
    });
  } finally {
    cancel();
  }
}
