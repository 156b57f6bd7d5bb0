import { isPlacementError, PlacementError } from "../../../placement-client/errors.js";
import {
  hasInterruptedRebuild,
  holdsTask,
  type Instance,
  type Migration,
  type Selection,
  type VmState,
} from "../../../records/index.js";
import { NoValidHost, operatorReason } from "../../scheduler/errors.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { carryOutDelete } from "./delete-instance.js";
import { endSupersededMoves } from "./end-superseded-moves.js";
import { endTask, isTaskError, requestSpecOf, TaskError } from "./faults.js";
import { claimSameAmounts, complexAllocations, releaseUnfinishedClaims, sourceNode } from "./source-allocations.js";
import { ActionEvents, portRequestsOf, savePortAllocations, serverGroupOf, type TaskDeps } from "./task-deps.js";

type RebuildTask = Extract<Task, { kind: "rebuild_instance" }>;

/** Evacuates an instance to a host that the scheduler selects (spec 6.7 row 2a) or the operator forces (row 2b). */
export async function evacuate(deps: TaskDeps, task: RebuildTask, taskContext: TaskContext): Promise<void> {
  const { store } = deps;
  const instance = store.instances.get(task.instanceUuid);
  const migration = migrationOf(deps, task);
  if (migration === null) {
    return;
  }
  if (instance === null || !isStillRequested(instance, task)) {
    return giveWay(deps, task, taskContext);
  }
  const events = new ActionEvents(store, task, "rebuild_server");
  await events.during(taskContext, async (context) => {
    try {
      await endSupersededMoves(deps, instance, migration, task.requestId);
      if (context.restarted) {
        await releaseUnfinishedClaims(deps, instance, task.requestId, [migration]);
      }
      // The end of a superseded resize may have changed the flavor.
      const current = store.instances.get(instance.uuid) ?? instance;
      const destination = task.forced
        ? await claimForced(deps, task, current)
        : await claimScheduled(deps, task, current);
      if (handOver(deps, task, migration, destination, context)) {
        return;
      }
      await takeBack(deps, task, instance, migration);
      giveWay(deps, task, context);
    } catch (error) {
      events.fail(error);
      await giveBack(deps, instance, task.requestId, migration);
      const ended = endEvacuation(deps, task, error, context);
      if (!ended) {
        throw error;
      }
    }
  });
}

/** Returns false after an accepted delete: it takes precedence, even if the evacuation has overwritten its task_state. */
function isStillRequested(instance: Instance, { requestId }: RebuildTask): boolean {
  return instance.deleteRequestId === null && holdsTask(instance, requestId, ["rebuilding"]);
}

/**
 * Ends the task, since the instance is deleted or another request owns it. Executes a delete whose task_state was
 * overwritten.
 */
function giveWay(deps: TaskDeps, task: RebuildTask, context: TaskContext): void {
  const { store, logger } = deps;
  store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    logger.warn("instance not evacuated: it was deleted, or another request owns it", {
      instance: task.instanceUuid,
      migration: task.migrationId,
      request_id: task.requestId,
      delete_request_id: instance?.deleteRequestId ?? null,
    });
    failMigration(deps, task);
    carryOutDelete(store, instance, task.requestId);
    context.finish();
  });
}

/** Removes the claim of an evacuation that another request has superseded. */
async function takeBack(
  deps: TaskDeps,
  { requestId }: RebuildTask,
  instance: Instance,
  migration: Migration,
): Promise<void> {
  if (deps.store.instances.get(instance.uuid) !== null) {
    return giveBack(deps, instance, requestId, migration);
  }
  await deps.placement.deleteAllocation(instance.uuid, { force: true, requestId });
}

type Claimed = Pick<Selection, "host" | "node" | "mappings">;

/** Row 2a: the scheduler claims. The instance keeps its source allocations until the source returns. */
async function claimScheduled(deps: TaskDeps, task: RebuildTask, instance: Instance): Promise<Claimed> {
  const { store, scheduler } = deps;
  const { selection } = await scheduler.selectDestination({
    instanceUuid: instance.uuid,
    // The server may have been resized since its creation.
    spec: { ...requestSpecOf(store, task), flavor: instance.flavor },
    requestedHost: task.host ?? undefined,
    ignoreHosts: instance.host === null ? [] : [instance.host],
    portRequests: portRequestsOf(deps, instance.uuid),
    held: "double",
    requestId: task.requestId,
  });
  return selection;
}

/** Row 2b: claims on the forced host without filters or candidates, with the amounts of the only source provider. */
async function claimForced(deps: TaskDeps, task: RebuildTask, instance: Instance): Promise<Claimed> {
  const { placement, store } = deps;
  const source = sourceNode(store, instance);
  const destination = task.host === null ? undefined : store.computeNodes.byHost(task.host)[0];
  if (!source || !destination) {
    throw new TaskError(
      "RecordMissing",
      `compute host ${source ? task.host : instance.host} has no compute node; start its agent, or evacuate without force`,
    );
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId: task.requestId });
  if (Object.keys(allocations).length === 0) {
    throw new TaskError("RecordMissing", `instance ${instance.uuid} has no allocations to copy; heal them first`);
  }
  if (allocations[source.uuid] === undefined) {
    throw complexAllocations(instance, destination);
  }
  const move = { instance, requestId: task.requestId };
  await claimSameAmounts(deps, move, destination, { allocations, held: "double" });
  return { host: destination.host, node: destination.hypervisorHostname };
}

/** Returns false if the instance was deleted meanwhile, or another request owns it. */
function handOver(
  deps: TaskDeps,
  task: RebuildTask,
  migration: Migration,
  destination: Claimed,
  context: TaskContext,
): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || !isStillRequested(instance, task)) {
      return false;
    }
    const params = {
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      onSharedStorage: task.onSharedStorage,
      recreate: true,
      node: destination.node,
      imageRef: instance.imageRef,
      targetStopped: task.targetStopped,
      ...serverGroupOf(deps, instance.uuid),
      requestId: task.requestId,
    };
    savePortAllocations(deps, instance.uuid, destination);
    // If the destination dies before it takes the message, its next start finds the evacuation by this field (spec V31).
    store.migrations.save(migration.id, { destCompute: destination.host });
    bus.cast(destination.host, "rebuild_instance", params, task.requestId);
    context.finish();
    return true;
  });
}

/**
 * Removes the claim, which may exist even if the response was lost. If Placement fails, reconcile_allocations finds it
 * later (9.3).
 */
async function giveBack(deps: TaskDeps, instance: Instance, requestId: string, migration: Migration): Promise<void> {
  try {
    await releaseUnfinishedClaims(deps, instance, requestId, [migration]);
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    deps.logger.warn("claim of a failed evacuation could not be removed; reconcile_allocations removes it later", {
      err: error,
      instance: instance.uuid,
    });
  }
}

/** Handles the failure columns of rows 2a and 2b. Returns false if the error is in neither. */
function endEvacuation(deps: TaskDeps, task: RebuildTask, error: unknown, context: TaskContext): boolean {
  const { store, logger, config } = deps;
  const instance = store.instances.get(task.instanceUuid);
  const vmState = vmStateAfter(task, instance, error);
  if (vmState === null) {
    return false;
  }
  logger.warn("rebuild failed", {
    instance: task.instanceUuid,
    request_id: task.requestId,
    reason: operatorReason(error),
  });
  store.transaction(() => {
    const forgotten =
      isTaskError(error, "RecordMissing") && config.upstreamQuirks.has("forget-failed-forced-evacuation");
    if (!forgotten) {
      failEvacuation(deps, task, vmState, error);
    }
    context.finish();
  });
  return true;
}

function vmStateAfter({ forced }: RebuildTask, instance: Instance | null, error: unknown): VmState | null {
  const unchanged = instance === null || hasInterruptedRebuild(instance) ? "error" : instance.vmState;
  if (isPlacementError(error, "AllocationUpdateFailed", "AllocationMoveFailed")) {
    return "error";
  }
  if (error instanceof NoValidHost) {
    return forced ? unchanged : "error";
  }
  // Upstream leaves the migration of row 2b in `accepted` and the instance in `rebuilding` forever (3.3 GAP-c).
  if (isTaskError(error, "RecordMissing")) {
    return forced ? unchanged : "error";
  }
  return null;
}

/** Sets the migration to error, and the instance to this state. */
export function failEvacuation(deps: TaskDeps, task: RebuildTask, vmState: VmState, error: unknown): void {
  failMigration(deps, task);
  endTask(deps.store, task, vmState, error);
}

function failMigration(deps: TaskDeps, task: RebuildTask): void {
  const migration = migrationOf(deps, task);
  if (migration !== null) {
    deps.store.migrations.save(migration.id, { status: "error" });
  }
}

/** Returns the evacuation's migration. Upstream uses any accepted migration of the instance. */
function migrationOf({ store, config }: TaskDeps, task: RebuildTask): Migration | null {
  if (!config.upstreamQuirks.has("any-accepted-migration-for-evacuation")) {
    return store.migrations.get(task.migrationId);
  }
  const accepted = store.migrations.byFilters({ instanceUuid: task.instanceUuid, statuses: ["accepted"] });
  return accepted[0] ?? null;
}
