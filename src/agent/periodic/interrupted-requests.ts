import type { Instance } from "../../records/index.js";
import type { InterruptedRequest } from "../operations/interrupted-requests.js";
import type { AgentServices } from "../services.js";
import { initInstance } from "../startup/init-instance.js";
import { failInterruptedBuilds, findInterruptedBuilds } from "../startup/interrupted-builds.js";
import { failInterruptedEvacuation, findInterruptedEvacuations } from "../startup/interrupted-evacuations.js";

/** Moves have tasks of their own, which look at both of their hosts; but in `resize_migrating` all is the source's. */
const MOVES = /^(resize_(?!migrating)|migrating)/;

/**
 * Spec 2.6 OPT: does for instances that the conductor's silence, or a lost lease, left in the middle of something what a start would
 * do; and for those of which a delete has left the row alone.
 */
export async function settleInterruptedRequests(services: AgentServices): Promise<void> {
  const { interrupted } = services.operations;
  for (const request of interrupted.all) {
    const instance = await services.conductor.call("instance_get", { uuid: request.instanceUuid });
    const isRow = instance?.host === services.host && instance.vmState === "deleted";
    if (instance !== null && (isRow || isLeft(instance, request))) {
      services.logger.warn(
        "work on the instance was interrupted: the conductor did not answer or refused, or the lease was lost; it is taken up as at a start",
        {
          instance: instance.uuid,
          request_id: request.requestId,
          task_state: instance.taskState,
        },
      );
      await takeUp(services, instance);
    }
    // What a delete has left is looked at until it is gone.
    if (!isRow) {
      interrupted.remove(request);
    }
  }
}

/**
 * Nobody has written since that the request is over, and no other was admitted. A build has no task_state from when it is accepted
 * until it is claimed: who else is admitted to one that builds sets one.
 */
function isLeft({ vmState, taskState, taskRequestId }: Instance, { requestId }: InterruptedRequest): boolean {
  return taskState === null ? vmState === "building" : taskRequestId === requestId && !MOVES.test(taskState);
}

async function takeUp(services: AgentServices, instance: Instance): Promise<void> {
  const { uuid, host } = instance;
  if (host === services.host) {
    return initInstance(services, instance);
  }
  const nodes = [...services.tracker.nodes().values()];
  if (host === null) {
    const builds = await findInterruptedBuilds(services, nodes, new Set());
    return failInterruptedBuilds(
      services,
      builds.filter((build) => build.uuid === uuid),
    );
  }
  for (const found of await findInterruptedEvacuations(services, nodes)) {
    if (found.instance.uuid === uuid) {
      await failInterruptedEvacuation(services, found);
    }
  }
}
