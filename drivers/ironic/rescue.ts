import type { Instance } from "../../src/virt/index.js";
import type { CallOptions, ProvisionRequest } from "./client/ironic-api.js";
import type { IronicParts } from "./parts.js";
import { InstanceDeployFailure, nodeOf, pollInstance, sendOnce } from "./polling.js";

/** Boots Ironic's own rescue system, whatever the image; its password is made up here. */
export async function rescue(parts: IronicParts, instance: Instance, options: CallOptions): Promise<void> {
  const rescuePassword = parts.context.random.hex(16);
  await change(parts, instance, { target: "rescue", rescuePassword }, ["rescue", "rescue failed"], options);
}

/** A node that is not rescued is success. */
export async function unrescue(parts: IronicParts, instance: Instance, options: CallOptions): Promise<void> {
  const node = await nodeOf(parts, instance, options);
  if (node.provisionState === "active") {
    return;
  }
  await change(parts, instance, { target: "unrescue" }, ["active", "unrescue failed"], options);
}

async function change(
  parts: IronicParts,
  instance: Instance,
  request: ProvisionRequest,
  [done, failed]: readonly [done: string, failed: string],
  { signal }: CallOptions,
): Promise<void> {
  const before = await nodeOf(parts, instance, { signal });
  await sendOnce(
    parts,
    before.uuid,
    { signal },
    () => parts.api.setProvisionState(before.uuid, request, { signal }),
    (now) => now.provisionState === done || now.targetProvisionState === done,
  );
  await pollInstance(parts, instance, { waitingFor: `${done} after ${request.target}`, signal }, (node) => {
    if (node?.provisionState === done) {
      return true;
    }
    if (node && node.provisionState !== failed) {
      return false;
    }
    throw new InstanceDeployFailure(
      `Failed to ${request.target} instance ${instance.uuid}: ${node ? (node.lastError ?? "Ironic does not say why") : "its node was given back"}`,
    );
  });
}
