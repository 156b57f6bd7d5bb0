import type { Credentials } from "../credentials.js";
import { HttpError } from "../http/http-error.js";
import {
  attachmentsOfVolume,
  beginDetaching,
  completeAttachment,
  NO_MODE,
  removeAttachment,
  reserveAttachment,
} from "./attachments/attachments.js";
import type { BlockStorageContext } from "./engine/block-storage-context.js";
import { callerOf } from "./engine/callers.js";
import { quotasOf, usedQuotas } from "./quotas/quotas.js";
import { ATTACHMENTS } from "./resources/attachments.js";
import { SNAPSHOTS } from "./resources/snapshots.js";
import { VOLUMES, type Volume } from "./resources/volumes.js";
import type { ServerVolume, ServerVolumes } from "./server-volumes.js";
import { insertSnapshot } from "./snapshots/snapshots.js";
import { requireTypeNamed } from "./types/find-type.js";
import { deleteVolume } from "./volumes/delete-volume.js";

/** Creates Compute's interface over the embedded Block Storage service. */
export function createServerVolumes(service: BlockStorageContext): ServerVolumes {
  const as = (caller: Credentials) => service.as("", callerOf(caller, undefined));
  return {
    volume: (id, caller) => {
      const volume = ifFound(() => as(caller).require(VOLUMES, id));
      return volume && toServerVolume(volume);
    },
    snapshot: (id, caller) => {
      const snapshot = ifFound(() => as(caller).require(SNAPSHOTS, id));
      return snapshot && { id, volumeId: snapshot.volume_id, size: snapshot.size };
    },
    typeId: (nameOrId, caller) => ifFound(() => requireTypeNamed(as(caller), nameOrId).id),
    reserve: (volumeId, serverUuid) =>
      reserveAttachment(service, service.require(VOLUMES, volumeId), serverUuid, NO_MODE).id,
    complete: (id) => {
      const attachment = service.table(ATTACHMENTS).get(id);
      if (attachment) {
        completeAttachment(service, attachment);
      }
    },
    attachments: (volumeId) =>
      attachmentsOfVolume(service, volumeId)
        .filter(({ attach_status: status }) => status === "attached")
        .map(({ instance_uuid: serverUuid, attach_mode: mode }) => ({ serverUuid, isReadOnly: mode === "ro" })),
    beginDetaching: (volumeId) => beginDetaching(service, volumeId),
    removeAttachment: (id) => {
      const attachment = service.table(ATTACHMENTS).get(id);
      if (attachment) {
        removeAttachment(service, attachment);
      }
    },
    createSnapshot: (volumeId, caller, name) => {
      const context = as(caller);
      const volume = context.require(VOLUMES, volumeId);
      const { description } = volume;
      const statuses = ["available", "in-use"];
      const { id } = insertSnapshot(context, volume, { name, description, statuses });
      context.enqueue("snapshot.create", id);
      return id;
    },
    snapshotLimit: (projectId) => ({
      limit: quotasOf(service, projectId).snapshots ?? -1,
      used: usedQuotas(service, projectId).snapshots ?? 0,
    }),
    deleteVolume: (id) => {
      const volume = service.table(VOLUMES).get(id);
      if (volume) {
        deleteVolume(service, volume);
      }
    },
  };
}

function ifFound<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) {
      return undefined;
    }
    throw error;
  }
}

function toServerVolume(volume: Volume): ServerVolume {
  const { id, project_id: projectId, status, size, availability_zone: availabilityZone } = volume;
  return {
    ...{ id, projectId, status, size, availabilityZone },
    isBootable: volume.bootable,
    isMultiattach: volume.multiattach,
    isAttached: volume.attach_status === "attached",
    imageMetadata: volume.image_metadata ?? {},
  };
}
