import { isConductorError } from "../../../conductor-client/errors.js";
import {
  afterRejectedEvacuation,
  holdsTask,
  type Instance,
  type InstanceChanges,
  type Migration,
  type MigrationStatus,
  REBUILD_TASK_STATES,
  UNFINISHED_MIGRATION_STATUSES,
} from "../../../records/index.js";
import { hasQuirk } from "../../context.js";
import { ignore } from "../../ignore-errors.js";
import type { Claim } from "../../tracker/contract.js";
import type { OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";

/** The progress of an evacuation, which determines what a failure must undo. */
export interface EvacuationProgress {
  readonly services: OperationServices;
  readonly request: RequestOf<"evacuate_instance">;
  readonly instance: Instance;
  readonly migration: Migration;
  claim: Claim | null;
  /** `claiming`: the claim was rejected or not attempted, so that the instance's vm_state stays. */
  phase: "claiming" | "spawning";
  /** The guest's files existed here before: the source uses them as well. */
  diskReused: boolean;
  /** The driver was called to create the guest. */
  spawned: boolean;
}

/** Statuses of an evacuation that is neither done nor failed. */
export const UNENDED: readonly MigrationStatus[] = ["accepted", "pre-migrating"];

type Outcome = "taken" | "rejected" | "broken";

/**
 * The changes of the instance's row, by outcome of the failure (spec 6.7 rows 3 and 4). A row that is deleted or that
 * another request owns is not changed.
 */
const CHANGES: Readonly<Record<Outcome, (instance: Instance) => InstanceChanges>> = {
  taken: () => ({}),
  rejected: afterRejectedEvacuation,
  broken: () => ({ vmState: "error", taskState: null }),
};

/**
 * Reverts an evacuation: the guest, then the destination allocations, then the writes of the claim, with status
 * `failed`. The source allocations stay. While the guest cannot be removed the evacuation has not ended, so that no
 * returning source starts a second guest.
 * @throws the error, unless the instance was deleted or taken over meanwhile
 */
export async function evacuationFailed(progress: EvacuationProgress, error: unknown): Promise<void> {
  const { services, instance, migration } = progress;
  const outcome = outcomeOf(progress, error);
  const fields = { instance: instance.uuid, migration: migration.id, outcome, err: error };
  services.logger.warn("evacuation to this host failed", fields);
  const changes = CHANGES[outcome](instance);
  if (await isGuestGone(progress)) {
    await takeBack(progress, changes);
  } else {
    services.left.add(instance.uuid, () => undoAgain(progress, changes), { evacuated: true });
  }
  if (outcome === "taken") {
    return;
  }
  await addFault(services, instance.uuid, error);
  throw error;
}

function outcomeOf({ phase }: EvacuationProgress, error: unknown): Outcome {
  if (isConductorError(error, "InstanceNotFound", "UnexpectedTaskState")) {
    return "taken";
  }
  const isRejected = error instanceof Error && REJECTION_ERRORS.has(error.name);
  return phase === "claiming" && isRejected ? "rejected" : "broken";
}

/** Errors of the claim and of a late check of the server group: nothing happened to the instance. */
const REJECTION_ERRORS: ReadonlySet<string> = new Set([
  "ComputeResourcesUnavailable",
  "ComputeHostNotFound",
  "GroupAffinityViolation",
]);

/** Returns false if the guest must be removed later, because a returning source depends on the removal. */
async function isGuestGone(progress: EvacuationProgress): Promise<boolean> {
  const { services, instance, migration } = progress;
  try {
    await removeGuest(progress);
    return true;
  } catch (err) {
    const fields = { instance: instance.uuid, migration: migration.id, err };
    services.logger.error("could not remove the guest of the failed evacuation", fields);
    return hasQuirk(services, "destroy-pending-evacuations");
  }
}

/** Removes the guest only if this evacuation created it, and its disk only if the source does not share it. */
async function removeGuest({ services, instance, spawned, diskReused }: EvacuationProgress): Promise<void> {
  if (spawned) {
    await services.driver.destroy(instance, await destroyOptions(services, instance, !diskReused));
  }
}

async function takeBack(progress: EvacuationProgress, changes: InstanceChanges): Promise<void> {
  await removeAllocations(progress);
  await attempt(progress.services, progress.instance.uuid, "abort the evacuation", () => giveUp(progress, changes));
}

/**
 * Retries the cleanup. If the instance is on this host by now, or another move is bringing it, its guest here is in
 * use. If another evacuation has it, its row is left; that evacuation creates a guest here once this one's leftovers
 * are gone.
 */
async function undoAgain(progress: EvacuationProgress, changes: InstanceChanges): Promise<void> {
  const { services, request, instance, migration } = progress;
  const { conductor, host } = services;
  const now = await conductor.call("instance_get", { uuid: instance.uuid });
  const coming = await othersComing(progress);
  if (now?.host === host || coming.some(({ migrationType }) => migrationType !== "evacuation")) {
    // It may have ended after all, or its source has completed it.
    const write = { id: migration.id, changes: { status: "failed" }, expectedStatus: [...UNENDED] } as const;
    await conductor.call("migration_save", write).catch(ignore("InvalidMigrationState"));
    return;
  }
  await removeGuest(progress);
  const ours = now !== null && holdsTask(now, request.requestId, REBUILD_TASK_STATES);
  await takeBack(ours ? progress : { ...progress, claim: null }, ours ? changes : {});
}

async function removeAllocations(progress: EvacuationProgress): Promise<void> {
  const { services, request, instance } = progress;
  const { conductor, host, placement, logger, tracker } = services;
  const { node, requestId } = request;
  if (await isNeededHere(progress)) {
    return;
  }
  // A node that the tracker does not know may have a row, and the scheduler may have claimed it.
  const root = tracker.nodes().get(node) ?? (await conductor.call("compute_node_get_by_host_and_node", { host, node }));
  if (!root) {
    return;
  }
  await attempt(services, instance.uuid, "remove the destination's allocations", async () => {
    const options = { retry: true, requestId };
    if (!(await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, root.uuid, options))) {
      logger.warn("the instance had no allocations to remove from this host", { instance: instance.uuid, node });
    }
  });
}

/** Returns whether the instance is here or on its way, and so needs the destination allocations. */
async function isNeededHere(progress: EvacuationProgress): Promise<boolean> {
  const { conductor, host } = progress.services;
  const instance = await conductor.call("instance_get", { uuid: progress.migration.instanceUuid });
  return instance?.host === host || (await othersComing(progress)).length > 0;
}

/** Other moves that are bringing the instance here. */
async function othersComing({ services, migration }: EvacuationProgress): Promise<readonly Migration[]> {
  const { id, instanceUuid } = migration;
  const filters = { instanceUuid, destCompute: services.host, statuses: UNFINISHED_MIGRATION_STATUSES };
  return (await services.conductor.call("migrations_by_filters", { filters })).filter((other) => other.id !== id);
}

async function giveUp(
  { services, request, claim, instance, migration }: EvacuationProgress,
  changes: InstanceChanges,
): Promise<void> {
  const { conductor } = services;
  if (claim) {
    await claim.abort({ migrationStatus: "failed", instance: changes });
    return;
  }
  await conductor.call("migration_save", { id: migration.id, changes: { status: "failed" } });
  if (Object.keys(changes).length > 0) {
    const expected = { expectedTaskState: REBUILD_TASK_STATES, ofRequest: request.requestId };
    await conductor.call("instance_save", { uuid: instance.uuid, changes, ...expected });
  }
}
