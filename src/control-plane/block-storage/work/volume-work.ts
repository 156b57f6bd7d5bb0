import { isOneOf, where } from "../../resources/condition.js";
import { attachmentsOfVolume } from "../attachments/attachments.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { BACKUPS, type Backup } from "../resources/backups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { TYPES } from "../resources/types.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import type { VolumeEvent } from "../server-volumes.js";
import { addMessage, EXTEND, NO_BACK_END, SCHEDULE, UNKNOWN } from "../services/messages.js";
import { choosePool, isVolumeServiceDown, listPools, meetsSpecs } from "../services/pools.js";
import { isMultiattach } from "../types/find-type.js";
import { imageMetadataOf } from "../volumes/volume-sources.js";
import type { WorkInput, WorkKind } from "./work-kinds.js";

/** Returns the volume if it has one of the statuses in which it waits for the work. */
function waiting(context: BlockStorageContext, id: string, ...statuses: readonly string[]): Volume | undefined {
  const volume = context.table(VOLUMES).get(id);
  return volume && statuses.includes(volume.status) ? volume : undefined;
}

function setStatus(context: BlockStorageContext, id: string, from: readonly string[], to: string): void {
  context.change(VOLUMES, id, { status: to }, isOneOf("status", from));
}

/** Returns a volume to the status that it had before the work. */
function restoreStatus(context: BlockStorageContext, { id, previous_status: previous }: Volume): void {
  context.change(VOLUMES, id, { status: previous ?? "available", previous_status: null });
}

/** Notifies the servers that use a volume. */
function notifyServers(context: BlockStorageContext, { id }: Volume, event: VolumeEvent): void {
  for (const { instance_uuid: server } of attachmentsOfVolume(context, id)) {
    if (server !== null) {
      context.services.servers.notify(server, event, id);
    }
  }
}

/** Returns the pool of a new volume; undefined if none fits. */
function schedule(context: BlockStorageContext, volume: Volume): string | undefined {
  const { size, volume_type_id: typeId, availability_zone: availabilityZone } = volume;
  const type = typeId === null ? undefined : context.table(TYPES).get(typeId);
  return choosePool(context, { size, type, availabilityZone });
}

/** Whether the pool of a volume is there and has room for more. */
function canGrow(context: BlockStorageContext, { host, size }: Volume, newSize: number): boolean {
  const { maxOverSubscriptionRatio: ratio } = context.services.options;
  const pool = listPools(context).find(({ name }) => name === host);
  const isThere = pool !== undefined && !pool.service.disabled && !isVolumeServiceDown(context);
  return isThere && pool.allocated - size + newSize <= pool.backEnd.capacity * ratio;
}

function create(context: BlockStorageContext, id: string, { imageId, backupId }: WorkInput): void {
  const volume = waiting(context, id, "creating");
  if (volume === undefined) {
    return;
  }
  releaseBackup(context, backupId);
  const host = schedule(context, volume);
  if (host === undefined) {
    context.change(VOLUMES, id, { status: "error" });
    addMessage(context, {
      projectId: volume.project_id,
      type: "VOLUME",
      id,
      action: SCHEDULE,
      detail: NO_BACK_END,
    });
    return;
  }
  const backup = typeof backupId === "string" ? context.table(BACKUPS).get(backupId) : undefined;
  const copied = backup ? restoredContent(volume, backup) : contentOf(context, volume, imageId);
  context.change(VOLUMES, id, { status: "available", host, ...copied });
}

/** Returns what a volume keeps of the backup that was restored to it. */
export function restoredContent({ id, metadata }: Volume, backup: Backup): Partial<Volume> {
  const restored = { ...metadata, ...backup.volume_metadata };
  const isOther = backup.volume_id !== id || (metadata.src_backup_id ?? backup.id) !== backup.id;
  return { metadata: { ...restored, ...(isOther && { src_backup_id: backup.id }) } };
}

function releaseBackup(context: BlockStorageContext, id: unknown): void {
  if (typeof id === "string") {
    context.change(BACKUPS, id, { status: "available" }, where`status = 'restoring'`);
  }
}

/** Returns what a volume keeps of the image, snapshot or volume that it was made from. */
function contentOf(context: BlockStorageContext, volume: Volume, imageId: unknown): Partial<Volume> {
  if (typeof imageId === "string") {
    const image = context.services.images.find(imageId, context.caller.credentials);
    return image ? { bootable: true, image_metadata: imageMetadataOf(image) } : {};
  }
  const { snapshot_id: snapshotId, source_volid: volumeId } = volume;
  const source =
    snapshotId === null
      ? volumeId === null
        ? undefined
        : context.table(VOLUMES).get(volumeId)
      : context.table(SNAPSHOTS).get(snapshotId);
  return source ? { image_metadata: source.image_metadata } : {};
}

function retype(context: BlockStorageContext, id: string, { typeId, mayMove }: WorkInput): void {
  const volume = waiting(context, id, "retyping");
  const type = context.table(TYPES).get(String(typeId));
  if (volume === undefined || type === undefined) {
    return;
  }
  const { maxOverSubscriptionRatio: ratio } = context.services.options;
  const own = listPools(context).find(({ name }) => name === volume.host);
  const { size, availability_zone: availabilityZone } = volume;
  const host =
    own && meetsSpecs(own, type, ratio)
      ? own.name
      : mayMove === true && volume.status !== "in-use"
        ? choosePool(context, { size, type, availabilityZone })
        : undefined;
  if (host === undefined) {
    restoreStatus(context, volume);
    addMessage(context, { projectId: volume.project_id, type: "VOLUME", id, action: SCHEDULE, detail: NO_BACK_END });
    return;
  }
  context.change(VOLUMES, id, { volume_type_id: type.id, host, multiattach: isMultiattach(type) });
  restoreStatus(context, volume);
}

/** Work on volumes. The names are those of fault points. */
export const VOLUME_WORK: Readonly<Record<string, WorkKind>> = {
  "volume.create": {
    run: create,
    fail: (context, id, { backupId }) => {
      const volume = waiting(context, id, "creating");
      releaseBackup(context, backupId);
      if (volume) {
        // The back end fails, which the scheduler has chosen before.
        const status = typeof backupId === "string" ? "error_restoring" : "error";
        context.change(VOLUMES, id, { status, host: schedule(context, volume) ?? null });
        addMessage(context, { projectId: volume.project_id, type: "VOLUME", id, action: SCHEDULE, detail: UNKNOWN });
      }
    },
  },
  "volume.manage": {
    run: (context, id) => {
      context.change(VOLUMES, id, { status: "available", size: 1 }, where`status = 'creating'`);
    },
    fail: (context, id) => setStatus(context, id, ["creating"], "error_managing"),
  },
  "volume.delete": {
    run: (context, id) => {
      if (waiting(context, id, "deleting")) {
        context.sql.execute("DELETE FROM block_storage_snapshots WHERE volume_id = ? AND status = 'deleting'", id);
        context.table(VOLUMES).delete(id);
      }
    },
    fail: (context, id) => {
      setStatus(context, id, ["deleting"], "error_deleting");
      context.table(SNAPSHOTS).updateIf(where`volume_id = ${id} AND status = 'deleting'`, { status: "error_deleting" });
    },
  },
  "volume.unmanage": {
    run: (context, id) => {
      if (waiting(context, id, "unmanaging")) {
        context.table(VOLUMES).delete(id);
      }
    },
    fail: (context, id) => setStatus(context, id, ["unmanaging"], "error_unmanaging"),
  },
  "volume.extend": {
    run: (context, id, { size }) => {
      const volume = waiting(context, id, "extending");
      const fits = volume && canGrow(context, volume, Number(size));
      if (fits) {
        context.change(VOLUMES, id, { size: Number(size) });
      } else if (volume) {
        const { project_id: projectId } = volume;
        addMessage(context, { projectId, type: "VOLUME", id, action: EXTEND, detail: NO_BACK_END });
      }
      if (volume) {
        restoreStatus(context, volume);
        if (fits && volume.previous_status === "in-use") {
          notifyServers(context, volume, "volume-extended");
        }
      }
    },
    fail: (context, id) => setStatus(context, id, ["extending"], "error_extending"),
  },
  "volume.retype": {
    run: retype,
    fail: (context, id) => {
      const volume = waiting(context, id, "retyping");
      if (volume) {
        restoreStatus(context, volume);
      }
    },
  },
  "volume.upload": {
    run: (context, id, { imageId }) => {
      const volume = waiting(context, id, "uploading");
      if (volume) {
        context.services.images.complete(String(imageId));
        restoreStatus(context, volume);
      }
    },
    fail: (context, id, { imageId }) => {
      const volume = waiting(context, id, "uploading");
      context.services.images.remove(String(imageId));
      if (volume) {
        restoreStatus(context, volume);
      }
    },
  },
  "volume.reimage": {
    run: (context, id, { imageId }) => {
      const volume = waiting(context, id, "downloading");
      if (volume) {
        context.change(VOLUMES, id, contentOf(context, volume, imageId));
        restoreStatus(context, volume);
        if (volume.previous_status === "reserved") {
          notifyServers(context, volume, "volume-reimaged");
        }
      }
    },
    fail: (context, id) => setStatus(context, id, ["downloading"], "error"),
  },
  "volume.revert": {
    run: (context, id, { snapshotId }) => {
      const volume = waiting(context, id, "reverting");
      if (volume) {
        context.change(SNAPSHOTS, String(snapshotId), { status: "available" });
        restoreStatus(context, volume);
      }
    },
    fail: (context, id, { snapshotId }) => {
      setStatus(context, id, ["reverting"], "error");
      context.change(SNAPSHOTS, String(snapshotId), { status: "available" });
    },
  },
  "volume.migrate": {
    run: (context, id, { host }) => {
      context.change(
        VOLUMES,
        id,
        { host: String(host), migration_status: "success" },
        where`migration_status = 'starting'`,
      );
    },
    fail: (context, id) => {
      context.change(VOLUMES, id, { migration_status: "error" }, where`migration_status = 'starting'`);
    },
  },
};
