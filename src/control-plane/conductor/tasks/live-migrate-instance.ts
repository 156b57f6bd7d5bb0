import { holdsTask, type Instance, type Migration, POWER_STATES } from "../../../records/index.js";
import { defined } from "../../../runtime/collections.js";
import type { TaskContext } from "../task-runner.js";
import { failMove, migrationOf, releaseDeleted } from "./end-move.js";
import { computeServiceUnavailable, endTask, InstanceInvalidState, isUnsuitableHost } from "./faults.js";
import { claimForcedLive, findLiveDestination, type LiveDestination, type LiveTask } from "./live-destination.js";
import { type Move, restoreSourceAllocations, secureSourceAllocations } from "./source-allocations.js";
import { ActionEvents, isAlive, savePortAllocations, type TaskDeps } from "./task-deps.js";

/** Live-migrates an instance (spec 6.5 rows 2 to 4f). */
export async function liveMigrate(deps: TaskDeps, task: LiveTask, taskContext: TaskContext): Promise<void> {
  const { store } = deps;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    return releaseDeleted(deps, task, UNFINISHED);
  }
  const { requestId } = task;
  const { migration, events } = store.transaction(() => ({
    migration: findMigration(deps, task) ?? createMigration(deps, task, instance),
    events: new ActionEvents(store, task, "conductor_live_migrate_instance"),
  }));
  const move: Move = {
    instance,
    migration,
    flavor: instance.flavor,
    requestId,
    restarted: taskContext.restarted,
    held: null,
  };
  await events.during(taskContext, async (context) => {
    try {
      assertMigratable(deps, instance);
      const held = await secureSourceAllocations(deps, move);
      const destination =
        task.forced && task.host !== null
          ? await claimForcedLive(deps, task, move, task.host, held)
          : await findLiveDestination(deps, task, move, held);
      if (handOver(deps, task, move, destination, context)) {
        return;
      }
      await restoreSourceAllocations(deps, move);
      await releaseDeleted(deps, task, UNFINISHED);
      store.migrations.save(migration.id, { status: "error" });
    } catch (error) {
      events.fail(error);
      context.report(error);
      const vmState = isExpected(error) ? instance.vmState : "error";
      const end = { taskState: "migrating", vmState, fault: error } as const;
      await failMove(deps, move, error, end, context);
    }
  });
}

/** Sets the migration and the instance to error. */
export function failLiveMigration(deps: TaskDeps, task: LiveTask, error: unknown): void {
  const migration = findMigration(deps, task);
  if (migration !== null) {
    deps.store.migrations.save(migration.id, { status: "error" });
  }
  endTask(deps.store, task, "error", error);
}

function assertMigratable(deps: TaskDeps, instance: Instance): void {
  const { powerState, uuid, host } = instance;
  if (powerState !== POWER_STATES.running && powerState !== POWER_STATES.paused) {
    throw new InstanceInvalidState(uuid, powerState);
  }
  if (host === null || !isAlive(deps, host)) {
    throw computeServiceUnavailable(host ?? "none");
  }
}

/** Returns false if the instance has been deleted, or is being deleted. */
function handOver(
  deps: TaskDeps,
  task: LiveTask,
  { migration }: Move,
  { node, data, mappings }: LiveDestination,
  context: TaskContext,
): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || instance.host === null || !holdsTask(instance, task.requestId, ["migrating"])) {
      return false;
    }
    savePortAllocations(deps, instance.uuid, { host: node.host, ...defined({ mappings }) });
    // A move claim would write the address, but a live migration makes none.
    store.migrations.save(migration.id, {
      destCompute: node.host,
      destNode: node.hypervisorHostname,
      destComputeId: node.id,
    });
    const { requestId, blockMigration } = task;
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, dest: node.host, blockMigration, data };
    bus.cast(instance.host, "live_migration", { ...params, requestId }, requestId);
    context.finish();
    return true;
  });
}

/** Returns whether an error leaves the instance unchanged (spec 6.5 row 2); any other error sets it to error. */
const isExpected = (error: unknown): boolean => isUnsuitableHost(error) || error instanceof InstanceInvalidState;

const UNFINISHED = { migrationTypes: ["live-migration"], statuses: ["accepted", "failed"] } as const;

/** Finds the migration of a killed run. */
function findMigration({ store }: TaskDeps, task: LiveTask): Migration | null {
  const [unfinished = null] = store.migrations.byFilters({
    instanceUuid: task.instanceUuid,
    migrationTypes: ["live-migration"],
    statuses: ["accepted"],
  });
  return unfinished;
}

function createMigration(deps: TaskDeps, task: LiveTask, instance: Instance): Migration {
  return deps.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: "live-migration",
    status: "accepted",
    changes: {
      ...migrationOf(deps, instance, task.requestId),
      newInstanceTypeId: instance.flavor.id,
      ...(task.forced ? { destCompute: task.host } : {}),
    },
  });
}
