import { ConductorError } from "../../../conductor-client/errors.js";
import { PublicError } from "../../../runtime/public-error.js";
import type { Store } from "../../store/store.js";
import type { Task } from "../../store/tasks.js";

type BuildTask = Extract<Task, { kind: "build_instances" }>;

/** What the server was to have of the network is not there any more. */
export class NetworkNotAllocated extends PublicError {
  override readonly name = "NetworkNotAllocated";

  constructor(instanceUuid: string, reason: string) {
    super(`Build of instance ${instanceUuid} aborted: ${reason}`);
  }
}

/**
 * Gives the instance its ports, in the transaction that makes its row.
 * @throws {NetworkNotAllocated} a port, an address or a group was taken or removed since the request was accepted.
 */
export function givePorts(
  store: Store,
  { instanceUuid, ports = [], securityGroups = [] }: BuildTask,
  projectId: string,
): void {
  if (ports.length === 0) {
    return;
  }
  const gone = securityGroups.find((uuid) => store.securityGroups.get(uuid) === null);
  if (gone !== undefined) {
    throw new NetworkNotAllocated(instanceUuid, `Security group ${gone} does not exist`);
  }
  try {
    store.ports.addToServer({ uuid: instanceUuid, projectId }, ports, securityGroups);
  } catch (error) {
    throw error instanceof ConductorError ? new NetworkNotAllocated(instanceUuid, error.message) : error;
  }
}
