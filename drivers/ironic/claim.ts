import { BuildAbortException, ComputeResourcesUnavailable, type Instance } from "../../src/virt/index.js";
import type { PatchStep } from "./client/ironic-api.js";
import { IronicError, means, messageOf } from "./client/ironic-error.js";
import { describeNode, type IronicNode, isBad, isUsed } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import { findNode, type IronicTools, readNodeNow } from "./node-requests.js";

/** Maximum number of claims of one node. The node is read and found free before each. */
const CLAIMS = 2;

/**
 * Claims the node for the instance. Reads the node first, since its inventory may lag by a pass, and then claims it in
 * Ironic, which lets only one claimant succeed. If the node is taken, the build is rescheduled to another host; Nova
 * ends the build.
 * @throws {ComputeResourcesUnavailable} the node is not free, or could not be claimed. {@link BuildAbortException} the
 * instance has another node.
 */
export async function claimNode(tools: IronicTools, instance: Instance, options: CallOptions = {}): Promise<void> {
  const { api, quirks } = tools;
  const uuid = instance.node;
  if (uuid === null) {
    throw new ComputeResourcesUnavailable(`instance ${instance.uuid} has no node assigned`);
  }
  for (let claim = 1; ; claim += 1) {
    const node = await readFree(tools, uuid, instance, options);
    if (node.instanceUuid === instance.uuid) {
      return;
    }
    try {
      await api.patchNode(uuid, claimPatch(instance.uuid), { ...options, claim: true });
      return tools.cache.forget(uuid);
    } catch (error) {
      if (quirks.has("ironic-lost-claim-aborts")) {
        throw new BuildAbortException(`Build of instance ${instance.uuid} aborted: Failure prepping block device.`, {
          cause: error,
        });
      }
      if (means(error, "instance-elsewhere")) {
        throw await hasAnother(tools, instance, error, options);
      }
      // The node was locked, or the response was lost. Reads which instance has the node, and claims it again if it is
      // free.
      const open = means(error, "locked", "transition", "unreachable") && claim < CLAIMS;
      if (!open) {
        throw unavailable(uuid, instance, error);
      }
    }
  }
}

function claimPatch(instance: string): readonly PatchStep[] {
  return [{ op: "replace", path: "/instance_uuid", value: instance }];
}

/** Returns the node if it is free or already the instance's. */
async function readFree(
  tools: IronicTools,
  uuid: string,
  instance: Instance,
  options: CallOptions,
): Promise<IronicNode> {
  let node: IronicNode;
  try {
    node = await readNodeNow(tools, uuid, options);
  } catch (error) {
    throw error instanceof IronicError ? unavailable(uuid, instance, error) : error;
  }
  const own = node.instanceUuid === instance.uuid;
  if (isBad(node) || (isUsed(node) && !own)) {
    throw new ComputeResourcesUnavailable(
      `Insufficient compute resources: Ironic node ${uuid} is not available for instance ${instance.uuid}: ${describeNode(node)}.`,
    );
  }
  return node;
}

function unavailable(node: string, instance: Instance, cause: unknown): ComputeResourcesUnavailable {
  return new ComputeResourcesUnavailable(
    `Insufficient compute resources: Ironic node ${node} could not be claimed for instance ${instance.uuid}: ` +
      `${messageOf(cause)}.`,
    { cause },
  );
}

/** Rescheduling would not help: Ironic assigns an instance to at most one node. */
async function hasAnother(
  tools: IronicTools,
  instance: Instance,
  cause: IronicError,
  options: CallOptions,
): Promise<Error> {
  const other = await findNode(tools, instance, options).catch(() => null);
  return new BuildAbortException(
    `instance ${instance.uuid} already has node ${other?.uuid ?? "(no longer found)"} in Ironic, from an earlier claim: ` +
      "delete the server to release that node, and build it again",
    { cause },
  );
}
