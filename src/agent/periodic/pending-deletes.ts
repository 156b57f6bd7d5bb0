import type { Instance } from "../../records/index.js";
import { requireHostLease } from "../lifecycle/host-lease.js";
import type { AgentServices } from "../services.js";

/** Spec 3.7 `_run_pending_deletes`: files of deleted instances, at most `maximum_instance_delete_attempts` times each. */
export async function runPendingDeletes(services: AgentServices): Promise<void> {
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, host: services.host, cleaned: false },
  });
  for (const instance of instances) {
    try {
      await deleteFiles(services, instance);
    } catch (error) {
      services.logger.error("the files of a deleted instance could not be removed", {
        instance: instance.uuid,
        err: error,
      });
    }
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
