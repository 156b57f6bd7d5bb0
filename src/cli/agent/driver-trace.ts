import { join } from "node:path";
import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import type { Runtime } from "../../runtime/runtime.js";

/** One call of the driver about a guest, as a line of the trace. */
export interface TracedCall {
  /** Start of the call, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly instance: string;
  readonly milliseconds: number;
  /** `success`, `error`, `timeout`, `misbehaved`, `aborted` or `refused`. */
  readonly outcome: string;
}

/**
 * Returns the path of the trace in an agent's `state_path`. It has a line of JSON for each {@link TracedCall}, in the order
 * in which they ended.
 */
export const driverTraceFile = (statePath: string): string => join(statePath, "driver-calls.jsonl");

/** Wraps metrics so that they also write the driver's calls to the trace. Each start of the agent empties the trace. */
export async function traceDriver(
  metrics: AgentMetrics,
  statePath: string,
  { files, clock, logger }: Pick<Runtime, "files" | "clock" | "logger">,
): Promise<AgentMetrics> {
  const file = driverTraceFile(statePath);
  await files.write(file, "");
  let written: Promise<void> = Promise.resolve();
  return {
    ...metrics,
    driverCall: (method, milliseconds, outcome, instance) => {
      metrics.driverCall(method, milliseconds, outcome, instance);
      if (instance === undefined) {
        return;
      }
      const call: TracedCall = { at: clock.now() - milliseconds, method, instance, milliseconds, outcome };
      written = written
        .then(() => files.append(file, `${JSON.stringify(call)}\n`))
        .catch((error: unknown) => logger.warn("a call of the driver could not be traced", { err: error }));
    },
  };
}
