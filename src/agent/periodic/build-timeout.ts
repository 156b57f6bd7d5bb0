import {
  InstanceNotFound,
  ObjectActionError,
  UnexpectedTaskState,
  UnexpectedVmState,
} from "../../conductor-client/errors.js";
import { requestId } from "../context.js";
import type { AgentServices } from "../services.js";

/**
 * Spec 4.10: instances that build for more than `instance_build_timeout` seconds are set to error. They keep their task_state: the
 * build goes on, and makes an active instance of it all the same. One that has come further since it was read is left, as is one
 * that is being deleted: its task_state is the delete's.
 */
export async function checkInstanceBuildTime(services: AgentServices): Promise<void> {
  const { conductor, config, host, logger, runtime } = services;
  const latest = runtime.clock.now() - config.defaults.instanceBuildTimeout * 1000;
  const building = await conductor.call("instances_by_filters", {
    filters: { vmStates: ["building"], host, deleted: false },
  });
  const late = building.filter(({ createdAt, taskState }) => createdAt < latest && taskState !== "deleting");
  for (const { uuid, taskState } of late) {
    const changes = { vmState: "error" } as const;
    const expected = { expectedHost: host, expectedTaskState: [taskState], expectedVmState: ["building" as const] };
    try {
      await conductor.call("instance_save", { uuid, changes, ...expected }, { requestId: requestId(services) });
      logger.warn("the instance took too long to build; it is set to error", { instance: uuid });
    } catch (err) {
      if (!TAKEN.some((kind) => err instanceof kind)) {
        throw err;
      }
      logger.debug("the instance took long to build; it has come further meanwhile", { instance: uuid, err });
    }
  }
}

const TAKEN = [InstanceNotFound, ObjectActionError, UnexpectedTaskState, UnexpectedVmState];
