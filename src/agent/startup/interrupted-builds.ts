import type { ComputeNode, Instance } from "../../conductor/records/index.js";
import { type AgentParts, type AgentView, requestId } from "../parts.js";

/**
 * Spec 2.7: instances that hold allocations on these nodes and are still building without having got a host: the agent
 * died while they waited for its claim lock.
 * @param handled instances that start-up has dealt with.
 */
export async function findInterruptedBuilds(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  handled: ReadonlySet<string>,
): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>();
  for (const node of nodes) {
    for (const instance of await buildingOn(view, node, handled)) {
      found.set(instance.uuid, instance);
    }
  }
  return [...found.values()];
}

/** Sets them to error; what they hold is released when the user deletes them. */
export async function failInterruptedBuilds(parts: AgentParts, builds: readonly Instance[]): Promise<void> {
  for (const { uuid } of builds) {
    parts.logger.warn("the instance was being built when the agent died; it is set to error", { instance: uuid });
    await parts.conductor.call(
      "instance_save",
      { uuid, changes: { vmState: "error", taskState: null } },
      { requestId: requestId(parts) },
    );
  }
}

async function buildingOn(
  view: AgentView,
  node: ComputeNode,
  handled: ReadonlySet<string>,
): Promise<readonly Instance[]> {
  try {
    const { consumers } = await view.placement.getAllocationsForProvider(node.uuid);
    const uuids = [...consumers.keys()].filter((consumer) => !handled.has(consumer));
    return uuids.length === 0
      ? []
      : await view.conductor.call("instances_by_filters", {
          filters: { uuids, vmStates: ["building"], deleted: false },
        });
  } catch (error) {
    view.logger.error("interrupted builds on a node could not be looked for", {
      node: node.hypervisorHostname,
      err: error,
    });
    return [];
  }
}
