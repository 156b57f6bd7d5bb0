import { ObjectActionError, UnexpectedDeletingTaskState, UnexpectedTaskState } from "../../../conductor/errors.js";
import type { Instance, InstanceChanges } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";
import { attempt } from "./error-wrappers.js";

/**
 * Spec 6.2 OPT. A soft delete has overtaken an operation that may have left the instance without its guest: since it may fail, or be
 * taken back, the server must not look usable afterwards. The task_state stays the delete's; any other request sees to the guest itself.
 * @param overtaken what ended the operation
 */
export async function errorUnderSoftDelete(
  services: OperationServices,
  instance: Instance,
  overtaken: unknown,
  changes: InstanceChanges = {},
): Promise<void> {
  if (!(overtaken instanceof UnexpectedTaskState) || overtaken instanceof UnexpectedDeletingTaskState) {
    return;
  }
  await errorWhileSoftDeleting(services, instance, changes);
}

/** Unless the soft delete has ended, or somebody has taken the instance from it. */
export async function errorWhileSoftDeleting(
  { context, tracker }: OperationServices,
  instance: Instance,
  changes: InstanceChanges = {},
): Promise<void> {
  await attempt(context, instance.uuid, "set the instance to error", async () => {
    try {
      await tracker.saveInstance(instance, { ...changes, vmState: "error" }, ["soft-deleting"]);
    } catch (error) {
      if (!(error instanceof UnexpectedTaskState || error instanceof ObjectActionError)) {
        throw error;
      }
    }
  });
}
