import { where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { BACKUPS } from "../resources/backups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES } from "../resources/volumes.js";
import { restoredContent } from "./volume-work.js";
import type { WorkKind } from "./work-kinds.js";

/** Returns the source of a backup, a volume or a snapshot, to the status that it had before. */
function restoreSource(context: BlockStorageContext, id: string): void {
  const backup = context.table(BACKUPS).get(id);
  if (backup?.snapshot_id) {
    context.change(SNAPSHOTS, backup.snapshot_id, { status: "available" }, where`status = 'backing-up'`);
  } else if (backup) {
    const volume = context.table(VOLUMES).get(backup.volume_id);
    const status = volume?.previous_status ?? "available";
    context.change(VOLUMES, backup.volume_id, { status, previous_status: null }, where`status = 'backing-up'`);
  }
}

/** Work on backups. The names are those of fault points. */
export const BACKUP_WORK: Readonly<Record<string, WorkKind>> = {
  "backup.create": {
    run: (context, id) => {
      context.change(BACKUPS, id, { status: "available" }, where`status = 'creating'`);
      restoreSource(context, id);
    },
    fail: (context, id) => {
      context.change(BACKUPS, id, { status: "error", fail_reason: "The backup failed." }, where`status = 'creating'`);
      restoreSource(context, id);
    },
  },
  "backup.restore": {
    run: (context, id, { volumeId }) => {
      context.change(BACKUPS, id, { status: "available" }, where`status = 'restoring'`);
      const volume = context.table(VOLUMES).get(String(volumeId));
      if (volume?.status === "restoring-backup") {
        const backup = context.table(BACKUPS).get(id);
        context.change(VOLUMES, volume.id, { status: "available", ...(backup && restoredContent(volume, backup)) });
      }
    },
    fail: (context, id, { volumeId }) => {
      context.change(BACKUPS, id, { status: "available" }, where`status = 'restoring'`);
      context.change(VOLUMES, String(volumeId), { status: "error_restoring" }, where`status = 'restoring-backup'`);
    },
  },
  "backup.delete": {
    run: ({ sql }, id) => {
      sql.execute("DELETE FROM block_storage_backups WHERE id = ? AND status = 'deleting'", id);
    },
    fail: (context, id) => {
      context.change(BACKUPS, id, { status: "error_deleting" }, where`status = 'deleting'`);
    },
  },
};
