import type { DestroyOptions, Instance, NetworkInfo } from "../../src/virt/index.js";
import type { PatchStep } from "./client/ironic-api.js";
import { type IronicNode, isTornDown, needsTearDown } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import { findNode, type IronicTools, pollInstance, sendOnce, withRetries } from "./node-requests.js";

/**
 * Takes the instance off its node; no node is success. Either it is torn down, or only the claim is undone, never both: what
 * comes after a tear-down would race with the cleaning of the node (bug 2019977).
 */
export async function destroy(
  tools: IronicTools,
  instance: Instance,
  options: CallOptions & Pick<DestroyOptions, "network">,
): Promise<void> {
  const { signal } = options;
  const node = await withRetries(tools, { signal }, () => findNode(tools, instance, { signal }));
  if (!node) {
    tools.context.logger.warn("no node of Ironic has the instance: it is taken for destroyed", {
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
    // The next inventory is made of what the node is then.
    tools.cache.forget(node.uuid);
  }
}

/**
 * Takes a deleted instance off the node that it has still: it was deleted while its host was away, and since then no host lists the
 * node (spec 8.9).
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

/** Gives back a node on which nothing was deployed: ports and volumes before the claim, so that no other claim meets them. */
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

/** Undoes the claim of a build that never came to deploy; a claim that was lost has no node, and needs no undoing. */
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
