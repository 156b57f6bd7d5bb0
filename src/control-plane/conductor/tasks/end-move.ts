import type { MigrationFilters } from "../../../conductor-client/methods/records.js";
import { PlacementError } from "../../../placement-client/errors.js";
import type {
  DestinationFailure,
  Instance,
  Migration,
  MigrationChanges,
  TaskState,
  VmState,
} from "../../../records/index.js";
import { operatorReason } from "../../scheduler/errors.js";
import type { Store } from "../../store/store.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation } from "./faults.js";
import { type Move, restoreSourceAllocations } from "./source-allocations.js";
import type { TaskDeps } from "./task-deps.js";

/** The records after a failed move. */
interface MoveEnd {
  /** The move's task state. If another operation, such as a delete, has replaced it, the instance's state is not changed. */
  readonly taskState: TaskState;
  /** The new vm_state; undefined leaves it unchanged. */
  readonly vmState: VmState | undefined;
  /** The instance's fault. */
  readonly fault: unknown;
}

/**
 * Ends a failed move (failure columns of spec 6.3 rows 2 and 3, and 6.5 rows 2 to 4f). It returns the source allocations
 * to the instance, sets the migration to error and finishes the task. If the instance may lack its allocations, it is set
 * to error as well (V27).
 * @param error the reason, for the log
 * @param also further writes at the end of the same transaction; gets the instance as it was before, or null if deleted
 */
export async function failMove(
  deps: TaskDeps,
  move: Move,
  error: unknown,
  end: MoveEnd,
  context: TaskContext,
  also: (instance: Instance | null) => void = () => {},
): Promise<void> {
  const usable = await giveBack(deps, move);
  const { store, logger } = deps;
  const { uuid } = move.instance;
  logger.warn("instance could not be moved", {
    instance: uuid,
    migration: move.migration.uuid,
    request_id: move.requestId,
    reason: operatorReason(error),
  });
  store.transaction(() => {
    const instance = store.instances.get(uuid);
    if (instance !== null) {
      store.migrations.save(move.migration.id, { status: "error" });
      const vmState = usable ? (end.vmState ?? instance.vmState) : "error";
      if (instance.taskState === end.taskState) {
        endOperation(store, instance, { requestId: move.requestId, vmState }, end.fault);
      }
    }
    also(instance);
    context.finish();
  });
}

/** Returns false if the migration may still have the source allocations; reconcile_allocations finds those (9.3). */
async function giveBack(deps: TaskDeps, move: Move): Promise<boolean> {
  try {
    return await restoreSourceAllocations(deps, move);
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    deps.logger.error("source allocations of a failed move could not be returned to the instance", {
      err: error,
      instance: move.instance.uuid,
      migration: move.migration.uuid,
    });
    return !(move.held === "replace" || move.held === "double" || (move.held === null && move.restarted));
  }
}

/**
 * Removes the allocations of a deleted instance and of its unfinished migrations (V13). Does nothing while it exists.
 * @param unfinished filters for the migrations
 */
export async function releaseDeleted(
  { store, placement }: TaskDeps,
  { instanceUuid, requestId }: { readonly instanceUuid: string; readonly requestId: string },
  unfinished: Pick<MigrationFilters, "migrationTypes" | "statuses">,
): Promise<void> {
  if (store.instances.get(instanceUuid) !== null) {
    return;
  }
  const consumers = store.migrations.byFilters({ ...unfinished, instanceUuid, readDeleted: true });
  for (const consumer of [...consumers.map(({ uuid }) => uuid), instanceUuid]) {
    await placement.deleteAllocation(consumer, { force: true, requestId });
  }
}

/** Returns the fields that every new migration has: source, old flavor, user and project. */
export function migrationOf(
  { store }: TaskDeps,
  instance: Instance,
  requestId: string,
): Pick<Migration, "sourceCompute" | "sourceNode" | "oldInstanceTypeId" | "userId" | "projectId"> {
  const action = store.actions.get(instance.uuid, requestId);
  return {
    sourceCompute: instance.host,
    sourceNode: instance.node,
    oldInstanceTypeId: instance.flavor.id,
    userId: action?.userId ?? instance.userId,
    projectId: action?.projectId ?? instance.projectId,
  };
}

/** Ends a destination's event successfully and adds its fault, when another host takes over the move that it gave back. */
export function passOn(store: Store, instance: Instance, failure: DestinationFailure): void {
  addFault(store, instance, failure);
  if (failure.eventId !== null) {
    store.actions.finishEvent(failure.eventId, { result: "Success" });
  }
}

/**
 * Ends a move that no other host takes, as requested by the destination that gave it back (spec 6.3 row 4). The
 * destination's error becomes the instance's fault, after the conductor's own.
 * @param instance null if it was deleted, or another operation owns it
 */
export function failReturnedMove(store: Store, instance: Instance | null, failure: DestinationFailure): void {
  if (instance !== null) {
    addFault(store, instance, failure);
    store.instances.save(instance.uuid, { newFlavor: null });
  }
  if (failure.eventId === null) {
    return;
  }
  const { message, traceback } = failure;
  store.actions.finishEvent(failure.eventId, {
    result: "Error",
    details: message,
    ...(traceback === null ? {} : { traceback }),
  });
}

/** Returns the columns of a failed move's last destination. */
export function lastDestination(store: Store, { host, node }: DestinationFailure): MigrationChanges {
  const row = store.computeNodes.getByHostAndNode(host, node);
  return { destCompute: host, destNode: node, ...(row ? { destComputeId: row.id, destHost: row.hostIp } : {}) };
}

function addFault(store: Store, instance: Instance, { host, message, traceback }: DestinationFailure): void {
  store.instances.addFault({
    instanceUuid: instance.uuid,
    code: 500,
    message: message.slice(0, 255),
    details: traceback,
    host,
  });
}
