import {
  ObjectActionError,
  UnexpectedDeletingTaskState,
  UnexpectedTaskState,
} from "../../../conductor-client/errors.js";
import type { Instance, InstanceChanges, TaskState } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";
import { attempt } from "./error-wrappers.js";

/**
 * Spec 6.2 OPT. A soft delete, or an operator who has reset the state, has overtaken an operation that may have left the instance
 * without its guest: the server must not look usable afterwards, since the soft delete may fail, or be taken back, and the operator
 * cannot know. The task_state stays the delete's; any other request sees to the guest itself.
 * @param cause what ended the operation
 */
export async function setErrorIfSuperseded(
  services: OperationServices,
  instance: Instance,
  cause: unknown,
  changes: InstanceChanges = {},
): Promise<void> {
  if (!(cause instanceof UnexpectedTaskState) || cause instanceof UnexpectedDeletingTaskState) {
    return;
  }
  await errorWhileSoftDeleting(services, instance, changes);
  await errorAfterReset(services, instance, changes);
}

/** Unless the soft delete has ended, or somebody has taken the instance from it. */
export async function errorWhileSoftDeleting(
  services: OperationServices,
  instance: Instance,
  changes: InstanceChanges = {},
): Promise<void> {
  await attempt(services.context, instance.uuid, "set the instance to error", () =>
    saveError(services, instance, changes, "soft-deleting"),
  );
}

/** Nobody does anything to it, and the guest is not here: who has made it anew since has done so under the instance's lock. */
async function errorAfterReset(
  services: OperationServices,
  { uuid }: Instance,
  changes: InstanceChanges,
): Promise<void> {
  const { conductor, driver, host } = services.context;
  await attempt(services.context, uuid, "set the instance to error", async () => {
    const now = await conductor.call("instance_get", { uuid });
    const isUsable = now?.host === host && now.taskState === null && now.vmState === "active";
    if (isUsable && !(await driver.instanceExists(now))) {
      await saveError(services, now, changes, null);
    }
  });
}

async function saveError(
  { tracker }: OperationServices,
  instance: Instance,
  changes: InstanceChanges,
  expected: TaskState | null,
): Promise<void> {
  try {
    await tracker.saveInstance(instance, { ...changes, vmState: "error" }, [expected]);
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState || error instanceof ObjectActionError)) {
      throw error;
    }
  }
}
