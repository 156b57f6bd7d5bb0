import { ManageFailure, type ManageParts, UNEXPECTED } from "./manage-parts.js";

export interface NodeMoveOptions {
  readonly ironicNodeUuid?: string;
  readonly destinationHost?: string;
}

/** `nova-manage db ironic_compute_node_move` (spec 7.6). @throws {ManageFailure}, and the conductor's errors: nothing was changed */
export async function ironicNodeMove({ conductor }: ManageParts, options: NodeMoveOptions): Promise<number> {
  const { ironicNodeUuid: node, destinationHost: host } = options;
  if (node === undefined || host === undefined) {
    const missing = [
      ...(node === undefined ? ["compute_node_uuid"] : []),
      ...(host === undefined ? ["destination_service_host"] : []),
    ];
    throw new ManageFailure(UNEXPECTED, `An error has occurred:\nMissing arguments: ${missing.join(", ")}`);
  }
  await conductor.call("ironic_compute_node_move", { node, host });
  return 0;
}
