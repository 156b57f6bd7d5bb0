import type { Instance } from "../../records/index.js";
import { requireHostLease } from "../life/host-lease.js";
import type { AgentParts } from "../parts.js";

/** Spec 3.7 `_run_pending_deletes`: files of deleted instances, at most `maximum_instance_delete_attempts` times each. */
export async function runPendingDeletes(parts: AgentParts): Promise<void> {
  const instances = await parts.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, host: parts.host, cleaned: false },
  });
  for (const instance of instances) {
    try {
      await deleteFiles(parts, instance);
    } catch (error) {
      parts.logger.error("the files of a deleted instance could not be removed", {
        instance: instance.uuid,
        err: error,
      });
    }
  }
}

async function deleteFiles(parts: AgentParts, instance: Instance): Promise<void> {
  const attempts = Number(instance.systemMetadata.clean_attempts ?? "0");
  if (attempts >= parts.config.defaults.maximumInstanceDeleteAttempts) {
    return;
  }
  requireHostLease(parts, `delete the files of instance ${instance.uuid}`);
  let cleaned = false;
  try {
    cleaned = await parts.driver.deleteInstanceFiles(instance);
  } finally {
    await parts.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: {
        systemMetadata: { ...instance.systemMetadata, clean_attempts: String(attempts + 1) },
        ...(cleaned ? { cleaned: true } : {}),
      },
    });
  }
}
