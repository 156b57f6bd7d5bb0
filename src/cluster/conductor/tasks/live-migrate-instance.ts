import { holdsTask, type Instance, type Migration, POWER_STATES } from "../../../records/index.js";
import { NoValidHost } from "../../scheduler/errors.js";
import type { TaskContext } from "../task-runner.js";
import { withActionEvent } from "./action-event.js";
import { failMove, migrationOf, releaseDeleted } from "./end-move.js";
import { endOperation, MaxRetriesExceeded } from "./faults.js";
import {
  claimForcedLive,
  findLiveDestination,
  isAlive,
  type LiveDestination,
  type LiveTask,
} from "./live-destination.js";
import {
  ComputeServiceUnavailable,
  DestinationHypervisorTooOld,
  InstanceInvalidState,
  InvalidHypervisorType,
  MigrationPreCheckError,
  UnableToMigrateToSelf,
} from "./live-errors.js";
import { type Move, restoreSourceHalf, secureSourceHalf } from "./source-half.js";
import type { TaskParts } from "./task-parts.js";

/** What leaves the instance as it was (spec 6.5 row 2); anything else is an error of the instance. */
const EXPECTED = [
  NoValidHost,
  MaxRetriesExceeded,
  MigrationPreCheckError,
  ComputeServiceUnavailable,
  UnableToMigrateToSelf,
  InvalidHypervisorType,
  DestinationHypervisorTooOld,
  InstanceInvalidState,
];

/** Spec 6.5 rows 2 to 4f. */
export function createLiveMigrateInstance(parts: TaskParts) {
  return {
    run: (task: LiveTask, context: TaskContext): Promise<void> => liveMigrate(parts, task, context),
    fail: (task: LiveTask, error: unknown): void => {
      const instance = parts.store.instances.get(task.instanceUuid);
      const migration = findMigration(parts, task);
      if (migration !== null) {
        parts.store.migrations.save(migration.id, { status: "error" });
      }
      if (instance !== null) {
        endOperation(parts.store, instance, { ...task, vmState: "error" }, error);
      }
    },
  };
}

async function liveMigrate(parts: TaskParts, task: LiveTask, context: TaskContext): Promise<void> {
  const { store } = parts;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    return releaseDeleted(parts, task, UNFINISHED);
  }
  const migration = findMigration(parts, task) ?? createMigration(parts, task, instance);
  const { requestId } = task;
  const move: Move = {
    instance,
    migration,
    flavor: instance.flavor,
    requestId,
    restarted: context.restarted,
    held: null,
  };
  const event = { instanceUuid: instance.uuid, event: "conductor_live_migrate_instance", requestId };
  await withActionEvent(store, event, async (fail) => {
    try {
      refuseUnfit(parts, instance);
      const held = await secureSourceHalf(parts, move);
      const destination =
        task.forced && task.host !== null
          ? await claimForcedLive(parts, task, move, task.host, held)
          : await findLiveDestination(parts, task, move, held);
      if (handOver(parts, task, move, destination, context)) {
        return;
      }
      await restoreSourceHalf(parts, move);
      await releaseDeleted(parts, task, UNFINISHED);
      store.migrations.save(migration.id, { status: "error" });
    } catch (error) {
      const vmState = isExpected(error) ? instance.vmState : "error";
      const end = { taskState: "migrating", vmState, fault: error } as const;
      await failMove(parts, move, error, end, context);
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

function refuseUnfit(parts: TaskParts, instance: Instance): void {
  const { powerState, uuid, host } = instance;
  if (powerState !== POWER_STATES.running && powerState !== POWER_STATES.paused) {
    throw new InstanceInvalidState(uuid, String(powerState));
  }
  if (host === null || !isAlive(parts, host)) {
    throw new ComputeServiceUnavailable(host ?? "none");
  }
}

/** False: the instance was deleted meanwhile, or is being so. */
function handOver(
  { store, bus }: TaskParts,
  task: LiveTask,
  { migration }: Move,
  { node, data }: LiveDestination,
  context: TaskContext,
): boolean {
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || instance.host === null || !holdsTask(instance, task.requestId, ["migrating"])) {
      return false;
    }
    // The address is written by a move claim, and a live migration makes none.
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

const isExpected = (error: unknown): boolean => EXPECTED.some((kind) => error instanceof kind);

const UNFINISHED = { migrationTypes: ["live-migration"], statuses: ["accepted", "failed"] } as const;

/** What a run that was killed has left. */
function findMigration({ store }: TaskParts, task: LiveTask): Migration | null {
  const [unfinished = null] = store.migrations.byFilters({
    instanceUuid: task.instanceUuid,
    migrationTypes: ["live-migration"],
    statuses: ["accepted"],
  });
  return unfinished;
}

function createMigration(parts: TaskParts, task: LiveTask, instance: Instance): Migration {
  return parts.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: "live-migration",
    status: "accepted",
    changes: {
      ...migrationOf(parts, instance, task.requestId),
      newInstanceTypeId: instance.flavor.id,
      ...(task.forced ? { destCompute: task.host } : {}),
    },
  });
}
