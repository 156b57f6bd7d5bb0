import { AllocationMoveFailed, AllocationUpdateFailed, PlacementError } from "../../../placement/errors.js";
import { type ComputeNode, holdsTask, type Instance, type Migration, type VmState } from "../../../records/index.js";
import { claimSelection } from "../../scheduler/claim.js";
import { NoValidHost } from "../../scheduler/errors.js";
import type { Task } from "../../store/task.js";
import type { TaskContext } from "../task-runner.js";
import { carryOutDelete } from "./acknowledged-delete.js";
import { withActionEvent } from "./action-event.js";
import { endOvertakenMoves } from "./end-overtaken-moves.js";
import { endOperation, messageOf, RecordMissing } from "./faults.js";
import { releaseUnfinishedClaims } from "./release-unfinished-claims.js";
import type { TaskParts } from "./task-parts.js";

type RebuildTask = Extract<Task, { kind: "rebuild_instance" }>;

/** The destination of an evacuation: the scheduler's choice (spec 6.7 row 2a) or the operator's word (row 2b). */
export function createRebuildInstance(parts: TaskParts) {
  return {
    run: (task: RebuildTask, context: TaskContext) => evacuate(parts, task, context),
    fail: (task: RebuildTask, error: unknown): void => {
      const instance = parts.store.instances.get(task.instanceUuid);
      failMigration(parts, task);
      if (instance !== null) {
        endOperation(parts.store, instance, { ...task, vmState: "error" }, error);
      }
    },
  };
}

async function evacuate(parts: TaskParts, task: RebuildTask, context: TaskContext): Promise<void> {
  const { store } = parts;
  const instance = store.instances.get(task.instanceUuid);
  const migration = migrationOf(parts, task);
  if (migration === null) {
    return;
  }
  if (instance === null || !isWanted(instance, task)) {
    return giveWay(parts, task, context);
  }
  const event = { instanceUuid: instance.uuid, event: "rebuild_server", requestId: task.requestId };
  await withActionEvent(store, event, async (fail) => {
    try {
      await endOvertakenMoves(parts, instance, task.requestId);
      if (context.restarted) {
        await releaseUnfinishedClaims(parts, instance, task.requestId, migration);
      }
      // Its flavor may be another's than before.
      const current = store.instances.get(instance.uuid) ?? instance;
      const destination = task.forced
        ? await claimForced(parts, task, current)
        : await claimScheduled(parts, task, current);
      if (handOver(parts, task, migration, destination, context)) {
        return;
      }
      await takeBack(parts, task, instance, migration);
      giveWay(parts, task, context);
    } catch (error) {
      await giveBack(parts, instance, task.requestId, migration);
      const ended = endEvacuation(parts, task, error, context);
      if (!ended) {
        throw error;
      }
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** A delete that was acknowledged before the evacuation took its task_state is to be carried out, not the evacuation. */
function isWanted(instance: Instance, { requestId }: RebuildTask): boolean {
  return instance.deleteRequestId === null && holdsTask(instance, requestId, ["rebuilding"]);
}

/** The instance is another request's by now, or deleted. A delete whose task_state was taken is carried out here. */
function giveWay(parts: TaskParts, task: RebuildTask, context: TaskContext): void {
  const { store, logger } = parts;
  store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    logger.warn("the instance is not evacuated: another request has it, or it is deleted", {
      instance: task.instanceUuid,
      migration: task.migrationId,
      request_id: task.requestId,
      delete_request_id: instance?.deleteRequestId ?? null,
    });
    failMigration(parts, task);
    carryOutDelete(store, instance, task.requestId);
    context.finish();
  });
}

/** What was claimed for an evacuation that another request has overtaken. */
async function takeBack(
  parts: TaskParts,
  { requestId }: RebuildTask,
  instance: Instance,
  migration: Migration,
): Promise<void> {
  if (parts.store.instances.get(instance.uuid) !== null) {
    return giveBack(parts, instance, requestId, migration);
  }
  await parts.placement.deleteAllocation(instance.uuid, { force: true, requestId });
}

interface Claimed {
  readonly host: string;
  readonly node: string;
}

/** Row 2a. The claim doubles: what the instance holds on the source stays until the source comes back. */
async function claimScheduled(
  { store, scheduler }: TaskParts,
  task: RebuildTask,
  instance: Instance,
): Promise<Claimed> {
  const spec = store.requests.spec(instance.uuid);
  if (spec === null) {
    throw new RecordMissing(`the request spec of instance ${instance.uuid} is gone`);
  }
  const [destination] = await scheduler.selectDestinations({
    instanceUuids: [instance.uuid],
    // The user may have resized it since it was created.
    spec: { ...spec, flavor: instance.flavor },
    requestedHost: task.host ?? undefined,
    ignoreHosts: instance.host === null ? [] : [instance.host],
    held: "double",
    requestId: task.requestId,
  });
  if (destination === undefined) {
    throw new RecordMissing("the scheduler answered no destination");
  }
  return destination.selection;
}

/** Row 2b: no filter and no candidates; the amounts of the one source provider are copied. */
async function claimForced(parts: TaskParts, task: RebuildTask, instance: Instance): Promise<Claimed> {
  const { placement, store } = parts;
  const source = nodeOf(store, instance.host, instance.node);
  const destination = task.host === null ? undefined : store.computeNodes.byHost(task.host)[0];
  if (!source || !destination) {
    throw new RecordMissing(
      `compute host ${source ? task.host : instance.host} has no compute node; start its agent, or evacuate without force`,
    );
  }
  const held = await placement.getAllocationsForConsumer(instance.uuid, { requestId: task.requestId });
  const providers = Object.entries(held.allocations);
  if (providers.length === 0) {
    throw new RecordMissing(`instance ${instance.uuid} holds no allocations that could be copied; heal them first`);
  }
  const [only] = providers;
  if (only === undefined || providers.length > 1 || only[0] !== source.uuid) {
    throw new NoValidHost(
      `Unable to move instance ${instance.uuid} to host ${destination.host}. The instance has complex allocations on the source host so move cannot be forced.`,
    );
  }
  const { uuid: consumer, projectId, userId } = instance;
  const claimed = await claimSelection(
    placement,
    { allocationRequest: { [destination.uuid]: { resources: only[1].resources } }, allocationRequestVersion: "1.36" },
    { consumer, projectId, userId, held: "double" },
    task.requestId,
  );
  if (!claimed) {
    throw new NoValidHost(
      `Unable to move instance ${instance.uuid} to host ${destination.host}. There is not enough capacity on the host for the instance.`,
    );
  }
  return { host: destination.host, node: destination.hypervisorHostname };
}

/** False: the instance was deleted meanwhile, or another request has it. */
function handOver(
  { store, bus }: TaskParts,
  task: RebuildTask,
  migration: Migration,
  destination: Claimed,
  context: TaskContext,
): boolean {
  return store.transaction(() => {
    const instance = store.instances.get(task.instanceUuid);
    if (instance === null || !isWanted(instance, task)) {
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
      requestId: task.requestId,
    };
    // If the destination dies before it has taken the message, its next start finds the evacuation by this (spec V31).
    store.migrations.save(migration.id, { destCompute: destination.host });
    bus.cast(destination.host, "rebuild_instance", params, task.requestId);
    context.finish();
    return true;
  });
}

/** A claim whose answer was lost may stand; what cannot be given back now is found by reconcile_allocations (9.3). */
async function giveBack(parts: TaskParts, instance: Instance, requestId: string, migration: Migration): Promise<void> {
  try {
    await releaseUnfinishedClaims(parts, instance, requestId, migration);
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    parts.logger.warn("the claim of a failed evacuation may stand", { err: error, instance: instance.uuid });
  }
}

/** The failure columns of rows 2a and 2b. False: not one of theirs. */
function endEvacuation(parts: TaskParts, task: RebuildTask, error: unknown, context: TaskContext): boolean {
  const { store, logger, config } = parts;
  const instance = store.instances.get(task.instanceUuid);
  const vmState = vmStateAfter(task, instance, error);
  if (vmState === null) {
    return false;
  }
  logger.warn("rebuild failed", { instance: task.instanceUuid, request_id: task.requestId, reason: messageOf(error) });
  store.transaction(() => {
    const forgotten = error instanceof RecordMissing && config.upstreamQuirks.has("forget-failed-forced-evacuation");
    if (!forgotten) {
      failMigration(parts, task);
      if (instance !== null) {
        endOperation(store, instance, { ...task, vmState }, error);
      }
    }
    context.finish();
  });
  return true;
}

function vmStateAfter({ forced }: RebuildTask, instance: Instance | null, error: unknown): VmState | null {
  const unchanged = instance?.vmState ?? "error";
  if (error instanceof AllocationUpdateFailed || error instanceof AllocationMoveFailed) {
    return "error";
  }
  if (error instanceof NoValidHost) {
    return forced ? unchanged : "error";
  }
  // Upstream leaves row 2b's in `accepted` and `rebuilding` for ever, and feeds the restarted source with it (3.3 GAP-c).
  if (error instanceof RecordMissing) {
    return forced ? unchanged : "error";
  }
  return null;
}

function failMigration(parts: TaskParts, task: RebuildTask): void {
  const migration = migrationOf(parts, task);
  if (migration !== null) {
    parts.store.migrations.save(migration.id, { status: "error" });
  }
}

/** Upstream takes any accepted migration of the instance for the evacuation's. */
function migrationOf({ store, config }: TaskParts, task: RebuildTask): Migration | null {
  if (!config.upstreamQuirks.has("any-accepted-migration-for-evacuation")) {
    return store.migrations.get(task.migrationId);
  }
  const accepted = store.migrations.byFilters({ instanceUuid: task.instanceUuid, statuses: ["accepted"] });
  return accepted[0] ?? null;
}

function nodeOf(store: TaskParts["store"], host: string | null, node: string | null): ComputeNode | undefined {
  return host === null || node === null ? undefined : (store.computeNodes.getByHostAndNode(host, node) ?? undefined);
}
