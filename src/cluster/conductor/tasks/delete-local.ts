import { isUp } from "../../../conductor/liveness.js";
import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../../records/index.js";
import type { Task } from "../../store/task.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation } from "./faults.js";
import type { TaskParts } from "./task-parts.js";

type DeleteTask = Extract<Task, { kind: "delete_local" }>;

/** Deletes an instance whose host is down or that has none (spec 6.2): no agent is asked; a guest is reaped later (3.5). */
export function createDeleteLocal(parts: TaskParts) {
  return {
    run: (task: DeleteTask, context: TaskContext) => deleteLocal(parts, task, context),
    /** The row stays, so that the user can try again. */
    fail: ({ instanceUuid, requestId }: DeleteTask, error: unknown): void => {
      const instance = parts.store.instances.get(instanceUuid);
      if (instance !== null) {
        endOperation(parts.store, instance, { requestId, vmState: "error" }, error);
      }
    },
  };
}

async function deleteLocal(parts: TaskParts, task: DeleteTask, context: TaskContext): Promise<void> {
  const { store, placement, logger } = parts;
  const { instanceUuid, requestId } = task;
  if (handOver(parts, task, context)) {
    return;
  }
  const before = store.instances.get(instanceUuid);
  const moves = store.migrations
    .byFilters({ instanceUuid })
    .filter((move) => isUnfinished(move) || move.status === "error");
  for (const consumer of [...moves.map(({ uuid }) => uuid), instanceUuid]) {
    const deleted = await placement.deleteAllocation(consumer, { force: true, requestId });
    if (deleted !== null) {
      continue;
    }
    logger.warn("Placement is away: the allocation leaks until the tracker of its host finds the instance deleted", {
      instance: instanceUuid,
      consumer,
      request_id: requestId,
    });
  }
  store.transaction(() => {
    // It was claimed meanwhile (bug 1914777): its agent has the guest.
    if (before?.host === null && handOver(parts, task, context)) {
      return;
    }
    for (const { id } of unfinishedMoves(parts, instanceUuid)) {
      store.migrations.save(id, { status: "error" });
    }
    destroyRow(parts, store.instances.get(instanceUuid), instanceUuid);
    context.finish();
  });
}

/** What moves it comes too late: its migrations end with it. */
function unfinishedMoves({ store }: TaskParts, instanceUuid: string): readonly Migration[] {
  return store.migrations.byFilters({ instanceUuid }).filter(isUnfinished);
}

const isUnfinished = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** A host that is up, or has come back, has the guest: its agent deletes. */
function handOver(parts: TaskParts, { instanceUuid, requestId }: DeleteTask, context: TaskContext): boolean {
  const { store, bus } = parts;
  return store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance === null || !isServed(parts, instance)) {
      return false;
    }
    bus.cast(instance.host, "terminate_instance", { instanceUuid, requestId }, requestId);
    context.finish();
    return true;
  });
}

function destroyRow({ store, clock }: TaskParts, instance: Instance | null, instanceUuid: string): void {
  store.requests.destroyBuildRequest(instanceUuid);
  if (instance !== null) {
    store.instances.save(instanceUuid, { vmState: "deleted", taskState: null, terminatedAt: clock.now() });
    store.instances.destroy(instanceUuid, { guardHostIsNull: instance.host === null });
  }
  if (store.mappings.instance(instanceUuid) !== null) {
    store.mappings.queueForDelete(instanceUuid);
  }
}

function isServed(
  { store, clock, config }: TaskParts,
  instance: Instance,
): instance is Instance & { readonly host: string } {
  if (instance.host === null) {
    return false;
  }
  const service = store.services.getByHost(instance.host, "nova-compute");
  return service !== null && isUp(service, { now: clock.now(), serviceDownTime: config.serviceDownTime });
}
