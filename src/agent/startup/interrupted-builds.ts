import { isProviderMissing } from "../../placement-client/errors.js";
import type { ComputeNode, Instance } from "../../records/index.js";
import { PublicError } from "../../runtime/error-messages.js";
import { type AgentView, requestId } from "../context.js";
import { addFault } from "../operations/flow/error-wrappers.js";
import type { AgentServices } from "../services.js";
import { messageWaits, requireAsFound, unlessTaken } from "./unless-taken.js";

/**
 * Spec 2.7: finds instances with allocations on these nodes that are still building without a host: the agent died
 * while they waited for its claim lock. A build whose release was interrupted may have no allocations any more.
 * @param handled the instances that start-up has already handled
 */
export async function findInterruptedBuilds(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  handled: ReadonlySet<string>,
): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>();
  const request = requestId(view);
  for (const node of nodes) {
    // An Ironic node that came from another agent: that agent may be building there now.
    if (node.host !== view.host) {
      continue;
    }
    for (const instance of await buildingOn(view, node, handled, request)) {
      if (!(await messageWaits(view, instance))) {
        found.set(instance.uuid, instance);
      }
    }
  }
  for (const instance of await findPartlyReleased(view)) {
    if (!handled.has(instance.uuid)) {
      found.set(instance.uuid, instance);
    }
  }
  return [...found.values()];
}

/** Sets them to error; their allocations are released when the user deletes them. */
export async function failInterruptedBuilds(services: AgentServices, builds: readonly Instance[]): Promise<void> {
  for (const build of builds) {
    await unlessTaken(services, { instance: build.uuid }, () =>
      build.vmState === "shelved_offloaded" ? endUnshelve(services, build) : failBuild(services, build),
    );
  }
}

/**
 * Adds a fault, since the build may have been sent from another host, whose part succeeded: only the fault explains the
 * error.
 */
async function failBuild(services: AgentServices, { uuid, host, vmState, taskState }: Instance): Promise<void> {
  services.logger.warn("the instance was being built when the agent died; it is set to error", { instance: uuid });
  const changes = { vmState: "error", taskState: null } as const;
  const expected = { expectedTaskState: [taskState], expectedVmState: [vmState], expectedHost: host };
  await services.conductor.call("instance_save", { uuid, changes, ...expected }, { requestId: requestId(services) });
  await addFault(
    services,
    uuid,
    new PublicError(`the agent of host ${services.host} stopped before the instance was built`),
  );
}

/** Ends as an unshelve that failed before its claim (spec 6.6): without allocations, so that it may be repeated. */
async function endUnshelve(services: AgentServices, instance: Instance): Promise<void> {
  const { uuid } = instance;
  const request = requestId(services);
  await requireAsFound(services, instance);
  services.logger.warn("the instance was being unshelved when the agent died; it stays offloaded", { instance: uuid });
  try {
    await services.placement.deleteAllocation(uuid, { force: true, requestId: request });
    await services.conductor.call(
      "instance_save",
      {
        uuid,
        changes: { taskState: null, launchedOn: null, availabilityZone: null },
        expectedTaskState: ["unshelving", "spawning"],
      },
      { requestId: request },
    );
  } catch (error) {
    services.logger.error("could not end an interrupted unshelve", { instance: uuid, err: error });
  }
}

/** Returns whether a build, or an unshelve to this host, was interrupted. */
function isInterrupted({ vmState, taskState, host }: Instance): boolean {
  return vmState === "building" || (host === null && (taskState === "unshelving" || taskState === "spawning"));
}

/**
 * Finds accepted unshelves of this host, and builds that it was about to reschedule: their allocations may already be
 * released. No message continues them, as it was already taken.
 */
async function findPartlyReleased({ conductor, host }: AgentView): Promise<readonly Instance[]> {
  const vmStates = ["building", "shelved_offloaded"] as const;
  const found = await conductor.call("instances_by_filters", {
    filters: { launchedOn: host, vmStates: [...vmStates], taskStates: ["scheduling", "spawning"], deleted: false },
  });
  // The database of a real Nova may compare names case-insensitively.
  return found.filter((instance) => instance.host === null && instance.launchedOn === host);
}

async function buildingOn(
  view: AgentView,
  node: ComputeNode,
  handled: ReadonlySet<string>,
  request: string,
): Promise<readonly Instance[]> {
  try {
    const { consumers } = await view.placement.getAllocationsForProvider(node.uuid, { requestId: request });
    const uuids = [...consumers.keys()].filter((consumer) => !handled.has(consumer));
    return uuids.length === 0
      ? []
      : (
          await view.conductor.call("instances_by_filters", {
            filters: { uuids, vmStates: ["building", "shelved_offloaded"], deleted: false },
          })
        ).filter(isInterrupted);
  } catch (error) {
    // Without a provider nothing was claimed on it.
    if (isProviderMissing(error)) {
      return [];
    }
    view.logger.error("could not check a node for interrupted builds", {
      node: node.hypervisorHostname,
      err: error,
    });
    return [];
  }
}
