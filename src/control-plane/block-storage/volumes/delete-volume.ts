import { and, type Condition, EVERY, isOneOf, where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidVolume } from "../engine/block-storage-errors.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";

/** Statuses of volumes that can be deleted without force. */
const DELETABLE = ["available", "error", "error_restoring", "error_extending", "error_managing"];

const IDLE: Condition = where`attach_status <> 'attached' AND group_id IS NULL
  AND (migration_status IS NULL OR migration_status IN ('deleting', 'error', 'success'))`;

const WITHOUT_SNAPSHOTS: Condition = where`NOT EXISTS (
  SELECT 1 FROM block_storage_snapshots WHERE volume_id = block_storage_volumes.id)`;

const WITH_DELETABLE_SNAPSHOTS: Condition = where`NOT EXISTS (
  SELECT 1 FROM block_storage_snapshots
    WHERE volume_id = block_storage_volumes.id AND status NOT IN ('available', 'error'))`;

const WITH_OWN_SNAPSHOTS: Condition = where`NOT EXISTS (
  SELECT 1 FROM block_storage_snapshots AS snapshots
    WHERE volume_id = block_storage_volumes.id AND snapshots.project_id <> block_storage_volumes.project_id)`;

const OTHERS =
  "must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.";

interface DeleteOptions {
  readonly isForced?: boolean;
  /** Whether its snapshots are deleted first. */
  readonly isCascade?: boolean;
  /** The status until the record is removed, and the work that removes it. */
  readonly status?: "deleting" | "unmanaging";
}

/** Stores the work that deletes a volume. @throws {HttpError} 400 unless its status allows it */
export function deleteVolume(
  context: BlockStorageContext,
  { id, status: previous, host }: Volume,
  { isForced = false, isCascade = false, status = "deleting" }: DeleteOptions = {},
): void {
  if (host === null && status === "deleting") {
    // No back end has it.
    context.table(VOLUMES).delete(id);
    return;
  }
  const isMember = isCascade && !context.caller.isAdmin;
  const allowed = and(
    IDLE,
    ...(isCascade ? [isForced ? EVERY : WITH_DELETABLE_SNAPSHOTS] : [WITHOUT_SNAPSHOTS]),
    ...(isMember && !isForced ? [WITH_OWN_SNAPSHOTS] : []),
    ...(isForced ? [] : [isOneOf("status", DELETABLE)]),
  );
  if (!context.change(VOLUMES, id, { status, previous_status: previous }, allowed)) {
    throw invalidVolume(
      isForced ? `Volume  ${OTHERS}` : `Volume status must be ${DELETABLE.join(" or ")} and ${OTHERS}`,
    );
  }
  if (isCascade) {
    context.table(SNAPSHOTS).updateIf(where`volume_id = ${id}`, { status: "deleting" });
  }
  context.enqueue(status === "deleting" ? "volume.delete" : "volume.unmanage", id);
}
