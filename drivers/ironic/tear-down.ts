import type { DestroyOptions, Instance, NetworkInfo } from "../../src/virt/index.js";
import type { PatchStep } from "./client/ironic-api.js";
import { type IronicNode, isTornDown, needsTearDown } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import { findNode, type IronicTools, pollInstance, sendOnce, withRetries } from "./node-requests.js";

/**
 * Removes the instance from its node; succeeds if it has none. Either tears the node down or only undoes the claim:
 * requests after a tear-down would race with the cleaning of the node (bug 2019977).
 */
export async function destroy(
  tools: IronicTools,
  instance: Instance,
  options: CallOptions & Pick<DestroyOptions, "network">,
): Promise<void> {
  const { signal } = options;
  const node = await withRetries(tools, { signal }, () => findNode(tools, instance, { signal }));
  if (!node) {
    tools.context.logger.warn("no Ironic node has the instance; treating it as destroyed", {
      instance: instance.uuid,
    });
    return;
  }
  try {
    if (needsTearDown(node.provisionState)) {
      await tearDown(tools, node, instance, { signal });
    } else {
      await undoClaim(tools, node.uuid, instance, options);
    }
  } finally {
    // The next inventory needs the node's new state.
    tools.cache.forget(node.uuid);
  }
}

/**
 * Releases the node of an instance that was deleted while its host was down. No host has listed the node since then
 * (spec 8.9).
 */
export async function destroyDeleted(tools: IronicTools, instance: Instance, options: CallOptions): Promise<void> {
  if (await findNode(tools, instance, options)) {
    await destroy(tools, instance, { ...options, network: [] });
  }
}

async function tearDown(
  tools: IronicTools,
  node: IronicNode,
  instance: Instance,
  { signal }: CallOptions,
): Promise<void> {
  const { api, config } = tools;
  const goes = (now: IronicNode) =>
    now.instanceUuid !== instance.uuid || now.provisionState === "deleting" || isTornDown(now.provisionState);
  if (!goes(node)) {
    await sendOnce(
      tools,
      node.uuid,
      { signal },
      () => api.setProvisionState(node.uuid, { target: "deleted" }, { signal }),
      goes,
    );
  }
  const polls = config.apiMaxRetries + 1;
  await pollInstance(
    tools,
    instance,
    { polls, waitingFor: `the tear-down of node ${node.uuid}`, signal },
    (now) => now === null || isTornDown(now.provisionState),
  );
}

const UNDO: readonly PatchStep[] = [
  { op: "add", path: "/instance_info", value: {} },
  { op: "replace", path: "/instance_uuid", value: null },
];

/**
 * Releases a node on which nothing was deployed. Removes ports and volumes before the claim, so that the next claimant
 * does not find them.
 */
export async function undoClaim(
  tools: IronicTools,
  node: string,
  instance: Pick<Instance, "uuid">,
  { network = [], signal }: CallOptions & { readonly network?: readonly NetworkInfo[] } = {},
): Promise<void> {
  const { api } = tools;
  await withRetries(tools, { signal }, async () => {
    for (const target of await api.volumeTargets(node, { signal })) {
      await api.deleteVolumeTarget(target, { signal });
    }
    for (const { id } of network) {
      await api.detachVif(node, id, { signal });
    }
  });
  try {
    await sendOnce(
      tools,
      node,
      { signal },
      () => api.patchNode(node, UNDO, { signal }),
      (now) => now.instanceUuid !== instance.uuid,
    );
  } finally {
    tools.cache.forget(node);
  }
}

/**
 * Undoes the claim of a build that never sent the deploy request. A claim that was lost has no node and needs no
 * undoing.
 */
export async function cleanUpFailedSpawn(
  tools: IronicTools,
  instance: Instance,
  options: CallOptions = {},
): Promise<void> {
  const node = await withRetries(tools, options, () => findNode(tools, instance, options));
  if (node && !needsTearDown(node.provisionState)) {
    await undoClaim(tools, node.uuid, instance, options);
  }
}
