import { type BlockDevice, isVolume } from "../../records/index.js";
import type { Logger } from "../../runtime/runtime.js";
import type { ServerVolumes } from "../block-storage/server-volumes.js";
import { HttpError } from "../http/http-error.js";
import type { Store } from "../store/store.js";

interface ReleaseDeps {
  readonly store: Store;
  readonly volumes: ServerVolumes;
  readonly logger: Logger;
}

/**
 * Removes the attachments and block devices of a server that no host has, and deletes the volumes that are deleted with
 * it. A volume that cannot be deleted remains, as in Nova.
 */
export function releaseVolumes(deps: ReleaseDeps, instanceUuid: string): void {
  for (const device of deps.store.blockDevices.ofInstance(instanceUuid)) {
    releaseVolume(deps, device);
  }
}

/** Removes the attachment and the record of one block device, like {@link releaseVolumes}. */
export function releaseVolume({ store, volumes, logger }: ReleaseDeps, device: BlockDevice): void {
  const { uuid, instanceUuid, volumeId, attachmentId, deleteOnTermination } = device;
  if (attachmentId !== null) {
    volumes.removeAttachment(attachmentId);
  }
  store.blockDevices.destroy(uuid);
  if (!isVolume(device) || volumeId === null || !deleteOnTermination) {
    return;
  }
  try {
    volumes.deleteVolume(volumeId);
  } catch (error) {
    if (!(error instanceof HttpError)) {
      throw error;
    }
    logger.warn("a volume could not be deleted with its server", {
      instance: instanceUuid,
      volume: volumeId,
      reason: error.message,
    });
  }
}
