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
  { context, tracker }: OperationServices,
  instance: Instance,
  overtaken: unknown,
  changes: InstanceChanges = {},
): Promise<void> {
  if (!(overtaken instanceof UnexpectedTaskState) || overtaken instanceof UnexpectedDeletingTaskState) {
    return;
  }
  await attempt(context, instance.uuid, "set the instance to error", () => setToError(tracker, instance, changes));
}

/**
 * Spec 6.2 OPT. A soft delete fails, and is the last that has the instance: the host that takes the next step of a move that it has
 * overtaken may be down, and finds no task_state of a soft delete later.
 */
export async function errorWithoutGuest({ context, tracker }: OperationServices, instance: Instance): Promise<void> {
  await attempt(context, instance.uuid, "set an instance without its guest to error", async () => {
    if (!(await context.driver.instanceExists(instance))) {
      await setToError(tracker, instance);
    }
  });
}

/** Only while a soft delete has it. */
async function setToError(
  tracker: OperationServices["tracker"],
  instance: Instance,
  changes: InstanceChanges = {},
): Promise<void> {
  try {
    await tracker.saveInstance(instance, { ...changes, vmState: "error" }, ["soft-deleting"]);
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState || error instanceof ObjectActionError)) {
      throw error;
    }
  }
}
