import type { Instance } from "../../records/index.js";
import type { AgentView } from "../context.js";

/**
 * Whether the message of the request that has the instance waits for this host: nothing was interrupted then, and the message is
 * carried out when the host serves. No Nova can tell; its rows know no request.
 */
export async function messageWaits(
  { conductor, host }: Pick<AgentView, "conductor" | "host">,
  { uuid, taskState, taskRequestId }: Instance,
): Promise<boolean> {
  return (
    taskState !== null &&
    taskRequestId !== null &&
    (await conductor.call("instance_in_hand", { uuid, host, requestId: taskRequestId }))
  );
}
