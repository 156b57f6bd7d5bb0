import type { RetryInfo, Selection } from "../../../records/index.js";
import type { TaskDeps } from "./task-deps.js";

/**
 * What a build's or a move's first destination may hand on to the next one. Undefined, with `[scheduler] max_attempts = 1`:
 * an agent without retry information does not ask for another host.
 */
export function firstRetry({ config }: TaskDeps, { host, node }: Selection): RetryInfo | undefined {
  return config.maxAttempts === 1 ? undefined : { numAttempts: 1, hosts: [[host, node]] };
}
