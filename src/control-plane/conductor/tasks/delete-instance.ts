import { ConductorError } from "../../../conductor-client/errors.js";
import { PlacementError } from "../../../placement-client/errors.js";
import { FINAL_MIGRATION_STATUSES, holdsTask, type Instance, type Migration } from "../../../records/index.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { Store } from "../../store/store.js";
import type { Task } from "../../store/tasks.js";
import { releaseVolumes } from "../release-volumes.js";
import type { TaskContext } from "../task-runner.js";
import { isAlive, type TaskDeps } from "./task-deps.js";

type DeleteTask = Extract<Task, { kind: "delete_local" }>;

/** Deletes an instance without a host, or whose host is down (spec 6.2). No agent is called; a guest is reaped later (3.5). */
export async function deleteLocal(deps: TaskDeps, task: DeleteTask, context: TaskContext): Promise<void> {
  const { store, placement, logger } = deps;
  const { instanceUuid, requestId } = task;
  if (handOver(deps, task, context)) {
    return;
  }
  const before = store.instances.get(instanceUuid);
  const moves = store.migrations
    .byFilters({ instanceUuid })
    .filter((move) => isUnfinished(move) || move.status === "error");
  for (const consumer of [...moves.map(({ uuid }) => uuid), instanceUuid]) {
    const deleted = await placement.deleteAllocation(consumer, { force: true, requestId });
    if (deleted === null) {
      logger.warn(
        "Placement is unavailable: the allocation leaks until its host's tracker finds the instance deleted",
        {
          instance: instanceUuid,
          consumer,
          request_id: requestId,
        },
      );
    }
  }
  store.transaction(() => {
    // An agent has claimed the instance meanwhile (bug 1914777) and has its guest.
    if (before?.host === null && handOver(deps, task, context)) {
      return;
    }
    for (const { id } of unfinishedMoves(deps, instanceUuid)) {
      store.migrations.save(id, { status: "error" });
    }
    destroyRow(deps, store.instances.get(instanceUuid), instanceUuid);
    context.finish();
  });
}

/** Returns the instance's unfinished migrations, which end with it. */
function unfinishedMoves({ store }: TaskDeps, instanceUuid: string): readonly Migration[] {
  return store.migrations.byFilters({ instanceUuid }).filter(isUnfinished);
}

const isUnfinished = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** Hands the delete to the agent if the host is up again, since it has the guest. */
function handOver(deps: TaskDeps, { instanceUuid, requestId }: DeleteTask, context: TaskContext): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (!instance?.host || !isAlive(deps, instance.host)) {
      return false;
    }
    bus.cast(instance.host, "terminate_instance", { instanceUuid, requestId }, requestId);
    context.finish();
    return true;
  });
}

function destroyRow(deps: TaskDeps, instance: Instance | null, instanceUuid: string): void {
  const { store, clock } = deps;
  store.requests.destroyBuildRequest(instanceUuid);
  releaseVolumes(deps, instanceUuid);
  if (instance !== null) {
    store.instances.save(instanceUuid, { vmState: "deleted", taskState: null, terminatedAt: clock.now() });
    store.instances.destroy(instanceUuid);
  }
  if (store.mappings.instance(instanceUuid) !== null) {
    store.mappings.queueForDelete(instanceUuid);
  }
}

type DeleteResizedTask = Extract<Task, { kind: "delete_resized" }>;

/** Deletes a server in VERIFY_RESIZE: the source confirms the resize first (spec 6.2). */
export async function deleteResized(deps: TaskDeps, task: DeleteResizedTask, context: TaskContext): Promise<void> {
  const { store, bus } = deps;
  const { instanceUuid, requestId } = task;
  const migration = store.migrations.get(task.migrationId);
  if (migration !== null && ["finished", "confirming"].includes(migration.status)) {
    await confirmOnSource(deps, task, migration);
  }
  store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance !== null) {
      // If an agent could not confirm, it has logged the reason; the delete continues.
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

/** Has the source confirm. If the source is down, removes its allocations; it destroys its guest when it returns (3.5). */
async function confirmOnSource(deps: TaskDeps, task: DeleteResizedTask, migration: Migration): Promise<void> {
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
    logger.warn("the source could not confirm the resize of a deleted instance; continuing with the delete", {
      instance: instanceUuid,
      request_id: requestId,
      reason: errorMessage(error),
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
    logger.error("source allocation of a migration leaked", { err: error, migration: migration.uuid });
  }
  store.migrations.save(migration.id, { status: "error" });
}

/**
 * Executes an accepted delete whose task_state this request has overwritten, since no other request will. If another
 * request owns the instance by now, that one handles it.
 */
export function carryOutDelete(store: Store, instance: Instance | null, requestId: string): void {
  const deletion = instance?.deleteRequestId ?? null;
  if (instance === null || deletion === null || !holdsTask(instance, requestId, [instance.taskState])) {
    return;
  }
  store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: deletion });
  store.tasks.add({ kind: "delete_local", instanceUuid: instance.uuid, requestId: deletion });
}
