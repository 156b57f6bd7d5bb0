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
import { claimSelection } from "../../scheduler/claim.js";
import type { ScheduleRequest } from "../../scheduler/schedule-request.js";
import type { Destination } from "../../scheduler/scheduler.js";
import type { Task } from "../../store/task.js";
import type { TaskContext } from "../task-runner.js";
import { withActionEvent } from "./action-event.js";
import { failMove, migrationOf, releaseDeleted } from "./end-move.js";
import { endOperation, RecordMissing, retriesExceeded } from "./faults.js";
import { firstRetry } from "./first-retry.js";
import { endGivenBack, lastDestination, passOn } from "./given-back.js";
import { type Move, restoreSourceHalf, secureSourceHalf, sourceNode } from "./source-half.js";
import type { TaskParts } from "./task-parts.js";

type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

/** A driver that can move a guest to its own host says so on the node's provider. */
const SAME_HOST_TRAIT = "COMPUTE_SAME_HOST_COLD_MIGRATE";

/** A cold migration or a resize: spec 6.3 rows 2 and 3, and the reschedules of row 4. */
export function createMigrateServer(parts: TaskParts) {
  return {
    run: (task: MigrateTask, context: TaskContext): Promise<void> => migrate(parts, task, context),
    fail: (task: MigrateTask, error: unknown): void => {
      const { store } = parts;
      const { failure } = task;
      const instance = store.instances.get(task.instanceUuid);
      const migration = instance === null ? null : findMigration(parts, task, instance);
      if (migration !== null) {
        store.migrations.save(migration.id, { status: "error" });
      }
      if (instance !== null) {
        endOperation(store, instance, { ...task, vmState: vmStateAfter(task) ?? instance.vmState }, error);
      }
      const own = instance !== null && holdsTask(instance, task.requestId, ["resize_prep"]);
      if (failure) {
        endGivenBack(store, own ? instance : null, failure);
      }
    },
  };
}

async function migrate(parts: TaskParts, task: MigrateTask, context: TaskContext): Promise<void> {
  const { store } = parts;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    await releaseDeleted(parts, task, PRE_MIGRATING);
    if (task.failure) {
      endGivenBack(store, null, task.failure);
    }
    return;
  }
  if (!holdsTask(instance, task.requestId, ["resize_prep"])) {
    return giveWay(parts, task, instance, findMigration(parts, task, instance), context);
  }
  const move: Move = {
    instance,
    migration: findMigration(parts, task, instance) ?? createMigration(parts, task, instance),
    flavor: task.flavor,
    requestId: task.requestId,
    restarted: context.restarted,
    held: null,
  };
  const event = { instanceUuid: instance.uuid, requestId: task.requestId };
  await withActionEvent(store, { ...event, event: "conductor_migrate_server" }, (failOuter) =>
    withActionEvent(store, { ...event, event: "cold_migrate" }, async (fail) => {
      try {
        const destination = await findDestination(parts, task, move);
        if (handOver(parts, task, move, destination, context)) {
          return;
        }
        await giveWay(parts, task, instance, move.migration, context);
      } catch (error) {
        await endFailed(parts, task, move, error, context);
        const failure = error instanceof Error ? error : new Error(String(error));
        fail(failure);
        failOuter(failure);
      }
    }),
  );
}

/** Another request has the instance, an evacuation or a delete: the move ends here, and that one goes on from the source's half. */
async function giveWay(
  parts: TaskParts,
  task: MigrateTask,
  instance: Instance,
  migration: Migration | null,
  context: TaskContext,
): Promise<void> {
  const { store, logger } = parts;
  const { flavor, requestId, failure } = task;
  logger.warn("the instance is not moved: another request has it, or it is deleted", {
    instance: instance.uuid,
    request_id: requestId,
  });
  if (migration !== null) {
    await restoreSourceHalf(parts, { instance, migration, flavor, requestId, restarted: true, held: null });
    await releaseDeleted(parts, task, PRE_MIGRATING);
  }
  store.transaction(() => {
    if (migration !== null && store.instances.get(instance.uuid) !== null) {
      store.migrations.save(migration.id, { status: "error" });
    }
    if (failure) {
      endGivenBack(store, null, failure);
    }
    context.finish();
  });
}

interface Chosen extends Destination {
  /** Absent: the destination may not give it back. */
  readonly retry?: RetryInfo;
}

async function findDestination(parts: TaskParts, task: MigrateTask, move: Move): Promise<Chosen> {
  const held = await secureSourceHalf(parts, move);
  return task.alternates === undefined
    ? schedule(parts, task, move, held)
    : claimAlternate(parts, task, task.alternates, move, held);
}

async function schedule(
  parts: TaskParts,
  task: MigrateTask,
  { instance }: Move,
  held: ScheduleRequest["held"],
): Promise<Chosen> {
  const { store, scheduler } = parts;
  const spec = store.requests.spec(instance.uuid);
  if (spec === null) {
    throw new RecordMissing(`the request spec of instance ${instance.uuid} is gone`);
  }
  const [destination] = await scheduler.selectDestinations({
    instanceUuids: [instance.uuid],
    spec: { ...spec, flavor: task.flavor },
    requestedHost: task.host ?? undefined,
    ignoreHosts: await excludedHosts(parts, task, instance),
    held,
    requestId: task.requestId,
  });
  if (destination === undefined) {
    throw new RecordMissing("the scheduler answered no destination");
  }
  if (task.host !== null) {
    return { ...destination, alternates: [] };
  }
  const retry = firstRetry(parts, destination.selection);
  return retry === undefined ? destination : { ...destination, retry };
}

/** Spec 6.3 row 1: its own host only where operator or driver allow it. */
async function excludedHosts(
  { store, placement, config }: TaskParts,
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

/** The destination before gave its claim back and told so (spec 6.3 row 4): the next one, claimed here. */
async function claimAlternate(
  { placement, config }: TaskParts,
  task: MigrateTask,
  alternates: readonly Selection[],
  { instance }: Move,
  held: ScheduleRequest["held"],
): Promise<Chosen> {
  const numAttempts = (task.retry?.numAttempts ?? 1) + 1;
  const { uuid: consumer, projectId, userId } = instance;
  if (numAttempts <= config.maxAttempts) {
    for (const [index, selection] of alternates.entries()) {
      if (await claimSelection(placement, selection, { consumer, projectId, userId, held }, task.requestId)) {
        const hosts = [...(task.retry?.hosts ?? []), [selection.host, selection.node] as const];
        return { selection, alternates: alternates.slice(index + 1), retry: { numAttempts, hosts } };
      }
    }
  }
  throw retriesExceeded(consumer, { numAttempts, maxAttempts: config.maxAttempts, reason: task.failure?.message });
}

/** False: the instance was deleted meanwhile, or is being so. */
function handOver(
  { store, bus }: TaskParts,
  task: MigrateTask,
  { migration }: Move,
  { selection, alternates, retry }: Chosen,
  context: TaskContext,
): boolean {
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || !holdsTask(instance, task.requestId, ["resize_prep"])) {
      return false;
    }
    const spec = store.requests.spec(instance.uuid);
    if (spec !== null) {
      store.requests.saveSpec({ ...spec, flavor: task.flavor });
    }
    const params = {
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      flavor: task.flavor,
      node: selection.node,
      alternates: [...alternates],
      ...(retry === undefined ? {} : { retry }),
      requestId: task.requestId,
    };
    // If the destination dies before it has taken the message, its next start finds the move by this (spec V31).
    store.migrations.save(migration.id, { destCompute: selection.host });
    bus.cast(selection.host, "prep_resize", params, task.requestId);
    if (task.failure) {
      passOn(store, instance, task.failure);
    }
    context.finish();
    return true;
  });
}

/**
 * The failure columns of rows 2 and 3: as it was, the request spec too. After a destination has given it back it ends as
 * row 4 says.
 */
function endFailed(
  parts: TaskParts,
  task: MigrateTask,
  move: Move,
  error: unknown,
  context: TaskContext,
): Promise<void> {
  const { store } = parts;
  const { failure } = task;
  const vmState = vmStateAfter(task);
  const end = { taskState: "resize_prep", fault: error, ...(vmState ? { vmState } : {}) } as const;
  return failMove(parts, move, error, end, context, (instance) => {
    if (instance !== null) {
      const spec = store.requests.spec(instance.uuid);
      if (spec !== null) {
        store.requests.saveSpec({ ...spec, flavor: instance.flavor });
      }
    }
    if (!failure) {
      return;
    }
    if (instance !== null) {
      store.migrations.save(move.migration.id, lastDestination(store, failure));
    }
    endGivenBack(store, instance && holdsTask(instance, task.requestId, ["resize_prep"]) ? instance : null, failure);
  });
}

/** Undefined: as it was. */
function vmStateAfter({ failure }: MigrateTask): VmState | undefined {
  return failure && !failure.rollback ? "error" : undefined;
}

const PRE_MIGRATING = { statuses: ["pre-migrating"] } as const;

function typeOf(task: MigrateTask, instance: Instance): MigrationType {
  return task.flavor.id === instance.flavor.id ? "migration" : "resize";
}

/** What a reschedule, or a run that was killed, has left. */
function findMigration({ store }: TaskParts, task: MigrateTask, instance: Instance): Migration | null {
  if (task.migrationId !== undefined) {
    const given = store.migrations.get(task.migrationId);
    if (given !== null && !FINAL_MIGRATION_STATUSES.includes(given.status)) {
      return given;
    }
  }
  const [unfinished = null] = store.migrations.byFilters({
    instanceUuid: instance.uuid,
    migrationTypes: [typeOf(task, instance)],
    statuses: ["pre-migrating"],
  });
  return unfinished;
}

function createMigration(parts: TaskParts, task: MigrateTask, instance: Instance): Migration {
  return parts.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: typeOf(task, instance),
    status: "pre-migrating",
    changes: { ...migrationOf(parts, instance, task.requestId), newInstanceTypeId: task.flavor.id },
  });
}
