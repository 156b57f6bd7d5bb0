import type { Instance } from "../../records/index.js";
import { requestId } from "../context.js";
import type { AgentServices } from "../services.js";

/** Spec 4.10: deletes for good what was soft-deleted more than `reclaim_instance_interval` seconds ago. */
export async function reclaimQueuedDeletes(services: AgentServices): Promise<void> {
  const latest = services.runtime.clock.now() - services.config.defaults.reclaimInstanceInterval * 1000;
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { vmStates: ["soft-delete"], taskStates: [null], host: services.host, deleted: false },
  });
  for (const instance of instances) {
    const since = instance.deletedAt ?? instance.terminatedAt ?? instance.updatedAt;
    if (since !== null && since > latest) {
      continue;
    }
    const request = requestId(services);
    services.logger.info("reclaiming a soft-deleted instance", { instance: instance.uuid, request_id: request });
    let begun = false;
    try {
      // It may have been restored meanwhile.
      const deleting = await services.conductor.call("instance_save", {
        uuid: instance.uuid,
        changes: { taskState: "deleting", taskRequestId: request },
        expectedTaskState: [null],
        expectedVmState: ["soft-delete"],
      });
      begun = true;
      await services.operations.run("terminate_instance", { instanceUuid: deleting.uuid, requestId: request });
    } catch (error) {
      services.logger.warn("a soft-deleted instance could not be reclaimed; it is tried again", {
        instance: instance.uuid,
        request_id: request,
        err: error,
      });
      // A server that was restored before the delete began is its user's again, also after an error.
      if (begun) {
        await softDeletedAgain(services, instance, request);
      }
    }
  }
}

/** What could not be deleted is in error, of which nobody would think any more that its delete was acknowledged. */
async function softDeletedAgain(
  { conductor, host, logger }: AgentServices,
  { uuid }: Instance,
  request: string,
): Promise<void> {
  try {
    await conductor.call(
      "instance_save",
      {
        uuid,
        changes: { vmState: "soft-delete" },
        expectedTaskState: [null],
        expectedVmState: ["error"],
        expectedHost: host,
      },
      { requestId: request },
    );
  } catch (err) {
    logger.info("the instance is not soft-deleted again", { instance: uuid, request_id: request, err });
  }
}
