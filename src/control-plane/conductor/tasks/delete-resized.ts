import { ConductorError } from "../../../conductor-client/errors.js";
import { PlacementError } from "../../../placement-client/errors.js";
import type { Migration } from "../../../records/index.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation, messageOf } from "./faults.js";
import { isAlive } from "./live-destination.js";
import type { TaskDeps } from "./task-deps.js";

type DeleteTask = Extract<Task, { kind: "delete_resized" }>;

/** Deletes a server that waits for the confirmation of a resize: first the source lets go of it (spec 6.2). */
export function createDeleteResized(deps: TaskDeps) {
  return {
    run: (task: DeleteTask, context: TaskContext) => deleteResized(deps, task, context),
    /** The row stays, so that the user can try again. */
    fail: ({ instanceUuid, requestId }: DeleteTask, error: unknown): void => {
      const instance = deps.store.instances.get(instanceUuid);
      if (instance !== null) {
        endOperation(deps.store, instance, { requestId, vmState: "error" }, error);
      }
    },
  };
}

async function deleteResized(deps: TaskDeps, task: DeleteTask, context: TaskContext): Promise<void> {
  const { store, bus } = deps;
  const { instanceUuid, requestId } = task;
  const migration = store.migrations.get(task.migrationId);
  if (migration !== null && ["finished", "confirming"].includes(migration.status)) {
    await confirmOnSource(deps, task, migration);
  }
  store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance !== null) {
      // An agent that failed to confirm has logged why; the delete goes on all the same.
      store.instances.save(instanceUuid, { taskState: "deleting", taskRequestId: requestId });
      if (instance.host !== null && isAlive(deps, instance.host)) {
        bus.cast(instance.host, "terminate_instance", { instanceUuid, requestId }, requestId);
      } else {
        store.tasks.add({ kind: "delete_local", instanceUuid, requestId });
      }
    }
    context.finish();
  });
}

/** Lets the source confirm. Gives back the half of one that is away, which destroys its guest when it returns (3.5). */
async function confirmOnSource(deps: TaskDeps, task: DeleteTask, migration: Migration): Promise<void> {
  const { store, bus, placement, logger } = deps;
  const { instanceUuid, requestId } = task;
  try {
    const host = migration.sourceCompute ?? "";
    store.migrations.save(migration.id, { status: "confirming" });
    await bus.call(host, "confirm_resize", { instanceUuid, migrationId: migration.id, requestId }, { requestId });
  } catch (error) {
    if (!(error instanceof ConductorError)) {
      throw error;
    }
    logger.warn("the source could not confirm the resize of an instance that is deleted", {
      instance: instanceUuid,
      request_id: requestId,
      reason: messageOf(error),
    });
  }
  if (store.migrations.get(migration.id)?.status === "confirmed") {
    return;
  }
  try {
    await placement.deleteAllocation(migration.uuid, { force: true, requestId });
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    logger.error("the source's half of a move leaks", { err: error, migration: migration.uuid });
  }
  store.migrations.save(migration.id, { status: "error" });
}
