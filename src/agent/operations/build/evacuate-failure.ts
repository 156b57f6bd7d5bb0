import { isConductorError } from "../../../conductor-client/errors.js";
import {
  afterRejectedEvacuation,
  FINAL_MIGRATION_STATUSES,
  holdsTask,
  type Instance,
  type InstanceChanges,
  MIGRATION_STATUSES,
  type Migration,
  type MigrationStatus,
  REBUILD_TASK_STATES,
} from "../../../records/index.js";
import { hasQuirk } from "../../context.js";
import { ignore } from "../../ignore-errors.js";
import type { Claim } from "../../tracker/contract.js";
import type { OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";

/** The progress of an evacuation, which determines what a failure must undo. */
export interface EvacuationProgress {
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

type Request = RequestOf<"evacuate_instance">;

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
export async function evacuationFailed(
  services: OperationServices,
  request: Request,
  progress: EvacuationProgress,
  error: unknown,
): Promise<void> {
  const { instance, migration } = progress;
  const outcome = outcomeOf(progress, error);
  services.logger.warn("evacuation to this host failed", {
    instance: instance.uuid,
    migration: migration.id,
    outcome,
    err: error,
  });
  const changes = CHANGES[outcome](instance);
  if (await isGuestGone(services, progress)) {
    await takeBack(services, request, progress, changes);
  } else {
    services.left.add(instance.uuid, () => undoAgain(services, request, progress, changes), { evacuated: true });
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

/**
 * Returns false if the guest must be removed later. If no returning source depends on the removal, this was the only
 * attempt.
 */
async function isGuestGone(services: OperationServices, progress: EvacuationProgress): Promise<boolean> {
  const { instance, migration } = progress;
  try {
    await removeGuest(services, progress);
    return true;
  } catch (err) {
    const fields = { instance: instance.uuid, migration: migration.id, err };
    services.logger.error("could not remove the guest of the failed evacuation", fields);
    return hasQuirk(services, "destroy-pending-evacuations");
  }
}

/** Removes the guest only if this evacuation created it, and its disk only if the source does not share it. */
async function removeGuest(services: OperationServices, progress: EvacuationProgress): Promise<void> {
  if (progress.spawned) {
    await services.driver.destroy(progress.instance, destroyOptions(!progress.diskReused));
  }
}

async function takeBack(
  services: OperationServices,
  request: Request,
  progress: EvacuationProgress,
  changes: InstanceChanges,
): Promise<void> {
  await removeAllocations(services, request, progress);
  await attempt(services, progress.instance.uuid, "abort the evacuation", () =>
    giveUp(services, request, progress, changes),
  );
}

/**
 * Retries the cleanup. If the instance is on this host by now, or another move is bringing it, its guest here is in
 * use. If another evacuation has it, its row is left; that evacuation creates a guest here once this one's leftovers
 * are gone.
 */
async function undoAgain(
  services: OperationServices,
  request: Request,
  progress: EvacuationProgress,
  changes: InstanceChanges,
): Promise<void> {
  const { conductor, host } = services;
  const { instance, migration } = progress;
  const now = await conductor.call("instance_get", { uuid: instance.uuid });
  const coming = await othersComing(services, migration);
  if (now?.host === host || coming.some(({ migrationType }) => migrationType !== "evacuation")) {
    await endUnlessEnded(conductor, migration.id);
    return;
  }
  await removeGuest(services, progress);
  const ours = now !== null && holdsTask(now, request.requestId, REBUILD_TASK_STATES);
  await takeBack(services, request, ours ? progress : { ...progress, claim: null }, ours ? changes : {});
}

/** Sets `failed`, unless the evacuation has ended after all or its source has completed it. */
async function endUnlessEnded(conductor: OperationServices["conductor"], id: number): Promise<void> {
  const write = { id, changes: { status: "failed" }, expectedStatus: [...UNENDED] } as const;
  await conductor.call("migration_save", write).catch(ignore("InvalidMigrationState"));
}

async function removeAllocations(
  services: OperationServices,
  { node, requestId }: Request,
  { instance, migration }: EvacuationProgress,
): Promise<void> {
  if (await isNeededHere(services, migration)) {
    return;
  }
  const root = services.tracker.nodes().get(node)?.uuid ?? (await rootOf(services, node));
  if (root === undefined) {
    return;
  }
  await attempt(services, instance.uuid, "remove the destination's allocations", async () => {
    const options = { retry: true, requestId };
    if (await services.placement.removeProviderTreeFromInstanceAllocation(instance.uuid, root, options)) {
      return;
    }
    services.logger.warn("the instance had no allocations to remove from this host", {
      instance: instance.uuid,
      node,
    });
  });
}

/**
 * Returns whether the instance has arrived here in another way, or is on its way: then it needs the destination
 * allocations.
 */
async function isNeededHere(context: OperationServices, migration: EvacuationProgress["migration"]): Promise<boolean> {
  const instance = await context.conductor.call("instance_get", { uuid: migration.instanceUuid });
  return instance?.host === context.host || (await othersComing(context, migration)).length > 0;
}

/** Other moves that are bringing the instance here. */
async function othersComing(
  { conductor, host }: OperationServices,
  { id, instanceUuid }: EvacuationProgress["migration"],
): Promise<readonly Migration[]> {
  const found = await conductor.call("migrations_by_filters", {
    filters: { instanceUuid, destCompute: host, statuses: UNFINISHED },
  });
  return found.filter((other) => other.id !== id);
}

const UNFINISHED = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/** A node that the tracker does not know may have a row, and the scheduler may have claimed it. */
async function rootOf({ conductor, host }: OperationServices, node: string): Promise<string | undefined> {
  return (await conductor.call("compute_node_get_by_host_and_node", { host, node }))?.uuid;
}

async function giveUp(
  services: OperationServices,
  { requestId }: Request,
  { claim, instance, migration }: EvacuationProgress,
  changes: InstanceChanges,
): Promise<void> {
  if (claim) {
    await claim.abort({ migrationStatus: "failed", instance: changes });
    return;
  }
  await services.conductor.call("migration_save", { id: migration.id, changes: { status: "failed" } });
  if (Object.keys(changes).length > 0) {
    const expected = { expectedTaskState: REBUILD_TASK_STATES, ofRequest: requestId };
    await services.conductor.call("instance_save", { uuid: instance.uuid, changes, ...expected });
  }
}
