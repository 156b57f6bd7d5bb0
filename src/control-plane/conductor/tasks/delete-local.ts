import { isUp } from "../../../conductor-client/liveness.js";
import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../../records/index.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation } from "./faults.js";
import type { TaskDeps } from "./task-deps.js";

type DeleteTask = Extract<Task, { kind: "delete_local" }>;

/** Deletes an instance whose host is down or that has none (spec 6.2): no agent is asked; a guest is reaped later (3.5). */
export function createDeleteLocal(deps: TaskDeps) {
  return {
    run: (task: DeleteTask, context: TaskContext) => deleteLocal(deps, task, context),
    /** The row stays, so that the user can try again. */
    fail: ({ instanceUuid, requestId }: DeleteTask, error: unknown): void => {
      const instance = deps.store.instances.get(instanceUuid);
      if (instance !== null) {
        endOperation(deps.store, instance, { requestId, vmState: "error" }, error);
      }
    },
  };
}

async function deleteLocal(deps: TaskDeps, task: DeleteTask, context: TaskContext): Promise<void> {
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
      logger.warn("Placement is away: the allocation leaks until the tracker of its host finds the instance deleted", {
        instance: instanceUuid,
        consumer,
        request_id: requestId,
      });
    }
  }
  store.transaction(() => {
    // An agent has claimed it meanwhile (bug 1914777) and has its guest.
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

/** The unfinished migrations of the instance, which end with it. */
function unfinishedMoves({ store }: TaskDeps, instanceUuid: string): readonly Migration[] {
  return store.migrations.byFilters({ instanceUuid }).filter(isUnfinished);
}

const isUnfinished = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** Hands the delete to the agent of a host that is up, or has come back: it has the guest. */
function handOver(deps: TaskDeps, { instanceUuid, requestId }: DeleteTask, context: TaskContext): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance === null || !isServed(deps, instance)) {
      return false;
    }
    bus.cast(instance.host, "terminate_instance", { instanceUuid, requestId }, requestId);
    context.finish();
    return true;
  });
}

function destroyRow({ store, clock }: TaskDeps, instance: Instance | null, instanceUuid: string): void {
  store.requests.destroyBuildRequest(instanceUuid);
  if (instance !== null) {
    store.instances.save(instanceUuid, { vmState: "deleted", taskState: null, terminatedAt: clock.now() });
    store.instances.destroy(instanceUuid);
  }
  if (store.mappings.instance(instanceUuid) !== null) {
    store.mappings.queueForDelete(instanceUuid);
  }
}

function isServed(
  { store, clock, config }: TaskDeps,
  instance: Instance,
): instance is Instance & { readonly host: string } {
  if (instance.host === null) {
    return false;
  }
  const service = store.services.getByHost(instance.host, "nova-compute");
  return service !== null && isUp(service, { now: clock.now(), serviceDownTime: config.serviceDownTime });
}
