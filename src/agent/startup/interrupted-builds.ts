import { isProviderMissing } from "../../placement-client/errors.js";
import type { ComputeNode, Instance } from "../../records/index.js";
import { PublicError } from "../../runtime/error-messages.js";
import { type AgentView, requestId } from "../context.js";
import type { AgentServices } from "../operations/flow/contract.js";
import { addFault } from "../operations/flow/error-wrappers.js";
import { messageWaits, requireAsFound, unlessTaken } from "./unless-taken.js";

/**
 * Spec 2.7: instances that hold allocations on these nodes and are still building without having got a host: the agent
 * died while they waited for its claim lock. What it had begun to give back, and not ended, may hold nothing any more.
 * @param handled instances that start-up has dealt with.
 */
export async function findInterruptedBuilds(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  handled: ReadonlySet<string>,
): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>();
  const request = requestId(view);
  for (const node of nodes) {
    // A node of Ironic that comes from another agent: that one may be building there now.
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

/** Sets them to error; what they hold is released when the user deletes them. */
export async function failInterruptedBuilds(services: AgentServices, builds: readonly Instance[]): Promise<void> {
  for (const build of builds) {
    await unlessTaken(services, { instance: build.uuid }, () =>
      build.vmState === "shelved_offloaded" ? endUnshelve(services, build) : failBuild(services, build),
    );
  }
}

/** The build may have been sent here from another host, whose part has ended well: only the fault tells why it is in error. */
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

/** As an unshelve that failed before its claim (spec 6.6): nothing is held, and it may be tried again. */
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
    services.logger.error("an interrupted unshelve could not be ended", { instance: uuid, err: error });
  }
}

/** The offloaded instances that this host was about to unshelve. */
function isInterrupted({ vmState, taskState, host }: Instance): boolean {
  return vmState === "building" || (host === null && (taskState === "unshelving" || taskState === "spawning"));
}

/**
 * Unshelves that this host has accepted, and builds that it was to hand back: what was claimed for them may be given back already.
 * No message brings them on, as that has been taken.
 */
async function findPartlyReleased({ conductor, host }: AgentView): Promise<readonly Instance[]> {
  const vmStates = ["building", "shelved_offloaded"] as const;
  const found = await conductor.call("instances_by_filters", {
    filters: { launchedOn: host, vmStates: [...vmStates], taskStates: ["scheduling", "spawning"], deleted: false },
  });
  // The database of a real Nova may take names for equal that differ in case.
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
    view.logger.error("interrupted builds on a node could not be looked for", {
      node: node.hypervisorHostname,
      err: error,
    });
    return [];
  }
}
