import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import { DISK_INFO, type InstanceChanges, SET_ASIDE_BY, type TaskState } from "../../../records/index.js";
import { InstanceFaultRollback, NotImplemented } from "../../../virt/errors.js";
import type { Allocations } from "../../../virt/types.js";
import type { MoveWrite } from "../../tracker/contract.js";
import type { OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt, setErrorIfSuperseded } from "../flow/error-wrappers.js";
import { heldHere, revertToSource } from "../flow/move-allocations.js";
import type { Move } from "../flow/release-allocations.js";

/** The parameters that every message of a move has; everything else is read from the database. */
export type MoveRequest = RequestOf<"resize_instance">;

/** The progress of a step of a cold move. */
export interface MoveProgress<R extends MoveRequest = MoveRequest> {
  readonly services: OperationServices;
  readonly request: R;
  /** Both records, as last saved. */
  move: Move;
}

/** Reads both records, the instance's even if it is deleted. @throws MigrationNotFound, InstanceNotFound */
export async function lookUpMove(
  services: OperationServices,
  { instanceUuid, migrationId }: MoveRequest,
): Promise<Move> {
  const migration = await services.conductor.call("migration_get", { id: migrationId });
  if (!migration) {
    throw new ConductorError(
      "MigrationNotFound",
      `move of instance ${instanceUuid} has no migration record ${migrationId}`,
    );
  }
  const instance = await services.conductor.call("instance_get", { uuid: instanceUuid, readDeleted: true });
  if (!instance) {
    throw new ConductorError("InstanceNotFound", `instance ${instanceUuid} of migration ${migrationId} does not exist`);
  }
  return { instance, migration };
}

/** Returns whether the instance was deleted or taken over by another request: this operation must not write its state. */
export function isTaken(error: unknown): boolean {
  return isConductorError(error, "InstanceNotFound", "UnexpectedTaskState");
}

/** Returns whether the driver reported that nothing happened: the instance's vm_state stays. */
export function isRollback(error: unknown): boolean {
  return error instanceof InstanceFaultRollback || error instanceof NotImplemented;
}

/** Returns the changes of an instance that stays on the source of a failed move. */
export function changesOnFailure(error: unknown, restored: boolean): InstanceChanges {
  return { ...(isRollback(error) && restored ? {} : { vmState: "error" }), taskState: null, newFlavor: null };
}

/** Returns the error inside a wrapper: users see that one. */
export function innerError(error: unknown): unknown {
  return error instanceof InstanceFaultRollback ? (error.cause ?? error) : error;
}

/** Returns whether the instance was stopped before the move. */
export const wasStopped = ({ instance }: Move): boolean => instance.systemMetadata.old_vm_state === "stopped";

/** Returns the instance's system metadata without the entries of a move. */
export function withoutOldVmState({ instance }: Move): Pick<InstanceChanges, "systemMetadata"> {
  const { old_vm_state: _, [DISK_INFO]: _info, ...systemMetadata } = instance.systemMetadata;
  return { systemMetadata };
}

/** Returns the allocations from which the guest gets its devices on this host. @throws ConsumerAllocationRetrievalFailed */
export function heldByGuest({
  services,
  request: { requestId },
  move: { instance },
}: MoveProgress): Promise<Allocations> {
  return heldHere(services, instance, services.tracker.nodes().get(instance.node ?? ""), { requestId });
}

const TASKS: readonly TaskState[] = [
  "resize_prep",
  "resize_migrating",
  "resize_migrated",
  "resize_finish",
  "resize_reverting",
];

/**
 * Returns the conditions under which the instance still belongs to the move. A confirmation has no task_state, and its
 * user may use the server before it has ended. The instance then waits for another confirmation or is on another host.
 */
function heldBy({ instance, migration: { status } }: Move): Partial<MoveWrite> {
  if (status !== "confirming" && status !== "confirmed") {
    return { expectedTaskState: TASKS };
  }
  const host = instance.host === null ? {} : { expectedHost: instance.host };
  return { ...host, expectedTaskState: [null], expectedVmState: [instance.vmState] };
}

/**
 * Sets the status to `error`, saves the changes of the instance's row with it, and records the fault. Clears the
 * migration context.
 * @param changes null: another request owns the row. It may take the row at any moment; the row is then left as well.
 */
export async function failMove(
  { services, move, request }: MoveProgress,
  changes: InstanceChanges | null,
  error: unknown,
): Promise<void> {
  const { tracker } = services;
  const { instance, migration } = move;
  services.logger.warn("the move failed", { instance: instance.uuid, migration: migration.id, err: error });
  let isRowOurs = changes !== null;
  await attempt(services, request.instanceUuid, "set the migration to error", async () => {
    const migrationChanges = { status: "error" } as const;
    isRowOurs = await orMigrationAlone(services, migration, async () => {
      if (changes === null) {
        return false;
      }
      const ended = { ...changes, migrationContext: null };
      await tracker.saveMove({ ...move, ...heldBy(move), changes: ended, migrationChanges });
      return true;
    });
  });
  if (isRowOurs) {
    await addFault(services, request.instanceUuid, innerError(error));
  }
}

/**
 * Sets the migration to error where `write` does not: it returned false, or the instance was deleted or taken over by
 * another request, and its move ends nevertheless.
 * @returns whether `write` saved the status
 */
export async function orMigrationAlone(
  { conductor }: Pick<OperationServices, "conductor">,
  { id }: Move["migration"],
  write: () => Promise<boolean>,
): Promise<boolean> {
  try {
    if (await write()) {
      return true;
    }
  } catch (error) {
    if (!isTaken(error) && !isConductorError(error, "UnexpectedVmState", "ObjectActionError")) {
      throw error;
    }
  }
  await conductor.call("migration_save", { id, changes: { status: "error" } });
  return false;
}

/** Returns whether the work succeeded; logs its error. */
export async function succeeded(
  { services, request }: MoveProgress,
  what: string,
  work: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (err) {
    services.logger.error(`could not ${what}`, {
      instance: request.instanceUuid,
      migration: request.migrationId,
      err,
    });
    return false;
  }
}

/** Returns the source allocations to the instance. Returns whether that succeeded; logs its error. */
export function returnAllocations(progress: MoveProgress): Promise<boolean> {
  const { services, request, move } = progress;
  return succeeded(progress, "return the allocations to the instance", () =>
    revertToSource(services, move, { requestId: request.requestId }),
  );
}

/** Returns the parameters that the messages of all steps have. */
export function stepMessage({ instanceUuid, migrationId, requestId }: MoveRequest): MoveRequest {
  return { instanceUuid, migrationId, requestId };
}

/**
 * Restores the guest that a move has set aside on the source, when another request has taken the instance and leaves it
 * here. That request may fail or be reverted. A delete destroys the guest where it is; an evacuation decides by itself
 * (2.6 row 15').
 * @param cause the error that ended the move
 */
export async function bringGuestBack(progress: MoveProgress, cause: unknown): Promise<void> {
  const { services, move } = progress;
  const { conductor, driver, host } = services;
  const { migration } = move;
  const now = await conductor.call("instance_get", { uuid: migration.instanceUuid });
  const stays = now?.host === host && (now.taskState === null || now.taskState === "soft-deleting");
  if (migration.status !== "migrating" || !stays || now.systemMetadata[SET_ASIDE_BY] !== undefined) {
    return;
  }
  const isBack = await succeeded(progress, "restore the guest that the move has set aside", async () => {
    const blockDevices = await services.volumes.connect(now, { completes: false });
    await driver.finishRevertMigration(now, { network: [], migration, blockDevices, powerOn: !wasStopped(move) });
    await services.volumes.complete(now);
  });
  if (!isBack) {
    await setErrorIfSuperseded(services, now, cause);
  }
}
