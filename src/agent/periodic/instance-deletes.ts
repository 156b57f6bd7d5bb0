import type { Instance } from "../../records/index.js";
import { GuestNotFound, VirtDriverNotReady } from "../../virt/errors.js";
import { type AgentView, hasQuirk, requestId } from "../context.js";
import { instancesOnDriver } from "../evacuation/hypervisor-guests.js";
import { requireHostLease } from "../host-lease.js";
import { ignore } from "../ignore-errors.js";
import { destroyOptions } from "../operations/flow/guest-options.js";
import type { AgentServices } from "../services.js";

/** Spec 3.7 `_run_pending_deletes`: deletes files of deleted instances, in a limited number of attempts each. */
export async function runPendingDeletes(services: AgentServices): Promise<void> {
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, host: services.host, cleaned: false },
  });
  for (const instance of instances) {
    await deleteFiles(services, instance).catch((err: unknown) => {
      services.logger.error("the files of a deleted instance could not be removed", { instance: instance.uuid, err });
    });
  }
}

async function deleteFiles(services: AgentServices, instance: Instance): Promise<void> {
  const attempts = Number(instance.systemMetadata.clean_attempts ?? "0");
  if (attempts >= services.config.defaults.maximumInstanceDeleteAttempts) {
    return;
  }
  requireHostLease(services, `delete the files of instance ${instance.uuid}`);
  let cleaned = false;
  try {
    cleaned = await services.driver.deleteInstanceFiles(instance);
  } finally {
    await services.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: {
        systemMetadata: { ...instance.systemMetadata, clean_attempts: String(attempts + 1) },
        ...(cleaned ? { cleaned: true } : {}),
      },
    });
  }
}

/** Spec 4.10: deletes instances that were soft-deleted more than `reclaim_instance_interval` seconds ago. */
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
      services.logger.warn("a soft-deleted instance could not be reclaimed; retrying later", {
        instance: instance.uuid,
        request_id: request,
        err: error,
      });
      // A server that was restored before the delete began stays restored, even after an error.
      if (begun) {
        await softDeletedAgain(services, instance, request);
      }
    }
  }
}

/** Sets an instance whose delete failed to soft-deleted again. In error, the acknowledged delete would be forgotten. */
async function softDeletedAgain(
  { conductor, host, logger }: AgentServices,
  { uuid }: Instance,
  requestId: string,
): Promise<void> {
  const expected = { expectedTaskState: [null], expectedVmState: ["error" as const], expectedHost: host };
  const write = { uuid, changes: { vmState: "soft-delete" as const }, ...expected };
  await conductor.call("instance_save", write, { requestId }).catch((err: unknown) => {
    logger.info("the instance is not soft-deleted again", { instance: uuid, request_id: requestId, err });
  });
}

/** Spec 3.5: returns the instances with guests here, deleted `running_deleted_instance_timeout` seconds ago. */
export async function findRunningDeleted(view: AgentView): Promise<readonly Instance[]> {
  const { runningDeletedInstanceTimeout } = view.config.defaults;
  const latest = view.runtime.clock.now() - runningDeletedInstanceTimeout * 1000;
  const instances = await instancesOnDriver(view, { deleted: true, softDeleted: false });
  return instances.filter(({ deletedAt }) => deletedAt === null || deletedAt <= latest);
}

/** Spec 3.5, by `running_deleted_instance_action`. Does not check the instance's host; does not change allocations. */
export async function cleanUpRunningDeleted(services: AgentServices): Promise<void> {
  const action = services.config.defaults.runningDeletedInstanceAction;
  if (action === "noop") {
    return;
  }
  const candidates = await findRunningDeleted(services).catch(
    ignore(VirtDriverNotReady, () =>
      services.logger.debug("the hypervisor is not ready; skipping the check for deleted guests"),
    ),
  );
  for (const instance of candidates ?? []) {
    services.logger.warn(`the instance is deleted, but its guest is still on the hypervisor; action: ${action}`, {
      instance: instance.uuid,
    });
    const handle = action === "shutdown" ? shutDown : action === "reap" ? reap : undefined;
    await handle?.(services, instance).catch((err: unknown) => {
      services.logger.error(`could not ${action} the guest of a deleted instance`, { instance: instance.uuid, err });
    });
  }
}

async function shutDown(services: AgentServices, instance: Instance): Promise<void> {
  // Upstream calls the driver with wrong arguments and swallows the error, so that the guest keeps running.
  if (hasQuirk(services, "broken-running-deleted-shutdown")) {
    return;
  }
  requireHostLease(services, `stop the guest of the deleted instance ${instance.uuid}`);
  await services.driver.powerOff(instance).catch(ignore(GuestNotFound));
}

async function reap(services: AgentServices, instance: Instance): Promise<void> {
  requireHostLease(services, `destroy the guest of the deleted instance ${instance.uuid}`);
  await services.driver.destroy(instance, await destroyOptions(services, instance, true));
}
