import type { Instance } from "../../src/virt/index.js";
import type { ProvisionRequest } from "./client/ironic-api.js";
import type { CallOptions } from "./client/requests.js";
import type { IronicTools } from "./ironic-tools.js";
import { InstanceDeployFailure, nodeOf, pollInstance, sendOnce } from "./polling.js";

/** Boots Ironic's own rescue system, whatever the image; its password is made up here. */
export async function rescue(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  const rescuePassword = tools.context.random.hex(16);
  await change(tools, instance, { target: "rescue", rescuePassword }, ["rescue", "rescue failed"], options);
}

/** A node that is not rescued is success. */
export async function unrescue(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  const node = await nodeOf(tools, instance, options);
  if (node.provisionState === "active") {
    return;
  }
  await change(tools, instance, { target: "unrescue" }, ["active", "unrescue failed"], options);
}

async function change(
  tools: IronicTools,
  instance: Instance,
  request: ProvisionRequest,
  [done, failed]: readonly [done: string, failed: string],
  { signal }: CallOptions,
): Promise<void> {
  const before = await nodeOf(tools, instance, { signal });
  await sendOnce(
    tools,
    before.uuid,
    { signal },
    () => tools.api.setProvisionState(before.uuid, request, { signal }),
    (now) => now.provisionState === done || now.targetProvisionState === done,
  );
  await pollInstance(tools, instance, { waitingFor: `${done} after ${request.target}`, signal }, (node) => {
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
