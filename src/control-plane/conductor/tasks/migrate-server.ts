import {
  FINAL_MIGRATION_STATUSES,
  holdsTask,
  type Instance,
  type Migration,
  type MigrationType,
  type RetryInfo,
  type Selection,
  type VmState,
} from "../../../records/index.js";
import type { ScheduleRequest } from "../../scheduler/schedule-request.js";
import type { Destination } from "../../scheduler/scheduler.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { failMove, failReturnedMove, lastDestination, migrationOf, passOn, releaseDeleted } from "./end-move.js";
import { endTask, requestSpecOf, retriesExceeded } from "./faults.js";
import { type Move, restoreSourceAllocations, secureSourceAllocations, sourceNode } from "./source-allocations.js";
import {
  ActionEvents,
  firstRetry,
  portRequestsOf,
  savePortAllocations,
  serverGroupOf,
  type TaskDeps,
} from "./task-deps.js";

type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

/** Trait of nodes whose driver supports cold migration to the same host. */
const SAME_HOST_TRAIT = "COMPUTE_SAME_HOST_COLD_MIGRATE";

/** Cold-migrates or resizes a server: spec 6.3 rows 2 and 3, and the reschedules of row 4. */
export async function migrateServer(deps: TaskDeps, task: MigrateTask, taskContext: TaskContext): Promise<void> {
  const { store } = deps;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    await releaseDeleted(deps, task, PRE_MIGRATING);
    if (task.failure) {
      failReturnedMove(store, null, task.failure);
    }
    return;
  }
  if (!holdsTask(instance, task.requestId, ["resize_prep"])) {
    return giveWay(deps, task, instance, findMigration(deps, task, instance), taskContext);
  }
  const { requestId } = task;
  const { migration, events } = store.transaction(() => ({
    migration: findMigration(deps, task, instance) ?? createMigration(deps, task, instance),
    events: new ActionEvents(store, task, "conductor_migrate_server", "cold_migrate"),
  }));
  const move: Move = {
    instance,
    migration,
    flavor: task.flavor,
    requestId,
    restarted: taskContext.restarted,
    held: null,
  };
  await events.during(taskContext, async (context) => {
    try {
      const destination = await findDestination(deps, task, move);
      if (handOver(deps, task, move, destination, context)) {
        return;
      }
      await giveWay(deps, task, instance, migration, context);
    } catch (error) {
      events.fail(error);
      await endFailed(deps, task, move, error, context);
    }
  });
}

/** Ends the move after an unexpected error. */
export function failMigrate(deps: TaskDeps, task: MigrateTask, error: unknown): void {
  const { store } = deps;
  const instance = store.instances.get(task.instanceUuid);
  const migration = instance === null ? null : findMigration(deps, task, instance);
  if (migration !== null) {
    store.migrations.save(migration.id, { status: "error" });
  }
  endTask(store, task, vmStateAfter(task), error);
  const own = instance !== null && holdsTask(instance, task.requestId, ["resize_prep"]);
  if (task.failure) {
    failReturnedMove(store, own ? instance : null, task.failure);
  }
}

/** Ends the move, since an evacuation or a delete owns the instance. That request continues with the source allocations. */
async function giveWay(
  deps: TaskDeps,
  task: MigrateTask,
  instance: Instance,
  migration: Migration | null,
  context: TaskContext,
): Promise<void> {
  const { store, logger } = deps;
  const { flavor, requestId, failure } = task;
  logger.warn("instance not moved: it was deleted, or another request owns it", {
    instance: instance.uuid,
    request_id: requestId,
  });
  if (migration !== null) {
    await restoreSourceAllocations(deps, { instance, migration, flavor, requestId, restarted: true, held: null });
    await releaseDeleted(deps, task, PRE_MIGRATING);
  }
  store.transaction(() => {
    if (migration !== null && store.instances.get(instance.uuid) !== null) {
      store.migrations.save(migration.id, { status: "error" });
    }
    if (failure) {
      failReturnedMove(store, null, failure);
    }
    context.finish();
  });
}

interface Chosen extends Destination {
  /** The inputs of another attempt; undefined if the destination cannot return the move. */
  readonly retry: RetryInfo | undefined;
}

async function findDestination(deps: TaskDeps, task: MigrateTask, move: Move): Promise<Chosen> {
  const held = await secureSourceAllocations(deps, move);
  return task.alternates === undefined
    ? schedule(deps, task, move, held)
    : claimAlternate(deps, task, task.alternates, move, held);
}

async function schedule(
  deps: TaskDeps,
  task: MigrateTask,
  { instance }: Move,
  held: ScheduleRequest["held"],
): Promise<Chosen> {
  const { store, scheduler } = deps;
  const destination = await scheduler.selectDestination({
    instanceUuid: instance.uuid,
    spec: { ...requestSpecOf(store, task), flavor: task.flavor },
    requestedHost: task.host ?? undefined,
    ignoreHosts: await excludedHosts(deps, task, instance),
    portRequests: portRequestsOf(deps, instance.uuid),
    held,
    requestId: task.requestId,
  });
  if (task.host !== null) {
    return { ...destination, alternates: [], retry: undefined };
  }
  return { ...destination, retry: firstRetry(deps, destination.selection) };
}

/** Returns the instance's own host, unless configuration or driver permit it as a destination (spec 6.3 row 1). */
async function excludedHosts(
  { store, placement, config }: TaskDeps,
  task: MigrateTask,
  instance: Instance,
): Promise<readonly string[]> {
  if (instance.host === null) {
    return [];
  }
  if (typeOf(task, instance) === "resize") {
    return config.allowResizeToSameHost ? [] : [instance.host];
  }
  const source = sourceNode(store, instance);
  if (source === undefined) {
    return [instance.host];
  }
  const { traits } = await placement.getProviderTraits(source.uuid, { requestId: task.requestId });
  return traits.includes(SAME_HOST_TRAIT) ? [] : [instance.host];
}

/** Claims the next alternate after a destination has dropped its claim (spec 6.3 row 4). */
async function claimAlternate(
  { scheduler, config }: TaskDeps,
  task: MigrateTask,
  alternates: readonly Selection[],
  { instance }: Move,
  held: ScheduleRequest["held"],
): Promise<Chosen> {
  const numAttempts = (task.retry?.numAttempts ?? 1) + 1;
  const { uuid: consumer, projectId, userId } = instance;
  if (numAttempts <= config.maxAttempts) {
    const claim = { consumer, projectId, userId, held };
    const destination = await scheduler.claimAlternate(alternates, claim, task.requestId);
    if (destination !== null) {
      const { host, node } = destination.selection;
      return { ...destination, retry: { numAttempts, hosts: [...(task.retry?.hosts ?? []), [host, node]] } };
    }
  }
  throw retriesExceeded(consumer, { numAttempts, maxAttempts: config.maxAttempts, reason: task.failure?.message });
}

/** Returns false if the instance has been deleted, or is being deleted. */
function handOver(
  deps: TaskDeps,
  task: MigrateTask,
  { migration }: Move,
  { selection, alternates, retry }: Chosen,
  context: TaskContext,
): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || !holdsTask(instance, task.requestId, ["resize_prep"])) {
      return false;
    }
    store.requests.changeSpec(instance.uuid, { flavor: task.flavor });
    const params = {
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      flavor: task.flavor,
      node: selection.node,
      alternates: [...alternates],
      ...(retry === undefined ? {} : { retry }),
      ...serverGroupOf(deps, instance.uuid),
      requestId: task.requestId,
    };
    // If the destination dies before it takes the message, its next start finds the move by this field (spec V31).
    store.migrations.save(migration.id, { destCompute: selection.host });
    savePortAllocations(deps, instance.uuid, selection);
    bus.cast(selection.host, "prep_resize", params, task.requestId);
    if (task.failure) {
      passOn(store, instance, task.failure);
    }
    context.finish();
    return true;
  });
}

/**
 * Ends a failed move (failure columns of rows 2 and 3): the instance and its request spec are unchanged. A move that a
 * destination gave back ends according to row 4.
 */
function endFailed(deps: TaskDeps, task: MigrateTask, move: Move, error: unknown, context: TaskContext): Promise<void> {
  const { store } = deps;
  const { failure } = task;
  const end = { taskState: "resize_prep", fault: error, vmState: vmStateAfter(task) } as const;
  return failMove(deps, move, error, end, context, (instance) => {
    if (instance !== null) {
      store.requests.changeSpec(instance.uuid, { flavor: instance.flavor });
    }
    if (!failure) {
      return;
    }
    if (instance !== null) {
      store.migrations.save(move.migration.id, lastDestination(store, failure));
    }
    failReturnedMove(
      store,
      instance && holdsTask(instance, task.requestId, ["resize_prep"]) ? instance : null,
      failure,
    );
  });
}

/** Returns the vm_state after a failed move; undefined leaves it unchanged. */
function vmStateAfter({ failure }: MigrateTask): VmState | undefined {
  return failure && !failure.rollback ? "error" : undefined;
}

const PRE_MIGRATING = { statuses: ["pre-migrating"] } as const;

function typeOf(task: MigrateTask, instance: Instance): MigrationType {
  return task.flavor.id === instance.flavor.id ? "migration" : "resize";
}

/** Finds the migration of a reschedule or of a killed run. */
function findMigration({ store }: TaskDeps, task: MigrateTask, instance: Instance): Migration | null {
  if (task.migrationId !== undefined) {
    const requestedMigration = store.migrations.get(task.migrationId);
    if (requestedMigration !== null && !FINAL_MIGRATION_STATUSES.includes(requestedMigration.status)) {
      return requestedMigration;
    }
  }
  const [unfinished = null] = store.migrations.byFilters({
    instanceUuid: instance.uuid,
    migrationTypes: [typeOf(task, instance)],
    statuses: ["pre-migrating"],
  });
  return unfinished;
}

function createMigration(deps: TaskDeps, task: MigrateTask, instance: Instance): Migration {
  return deps.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: typeOf(task, instance),
    status: "pre-migrating",
    changes: { ...migrationOf(deps, instance, task.requestId), newInstanceTypeId: task.flavor.id },
  });
}
