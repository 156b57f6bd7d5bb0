import { badRequest, conflict, type HttpError } from "../../http/http-error.js";
import type { Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidBackup, invalidInput, invalidSnapshot, invalidVolume } from "../engine/block-storage-errors.js";
import { isUuidLike } from "../engine/formats.js";
import { BACKUPS, type Backup } from "../resources/backups.js";
import { GROUPS, type Group } from "../resources/groups.js";
import { SNAPSHOTS, type Snapshot } from "../resources/snapshots.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import type { VolumeImage } from "../volume-images.js";

/** The source of a new volume: at most one of them. */
export interface VolumeSource {
  readonly snapshot?: Snapshot;
  readonly volume?: Volume;
  readonly image?: VolumeImage;
  readonly backup?: Backup;
}

const GIB = 1024 ** 3;

/** Finds the source and the group that a request names: the first unknown one decides the error. @throws {HttpError} 400, 404, 409 */
export function findSourceAndGroup(
  context: BlockStorageContext,
  requested: Body,
): { readonly source: VolumeSource; readonly group: Group | undefined } {
  const { snapshot_id: snapshotId, source_volid: volumeId, backup_id: backupId, group_id: groupId } = requested;
  const imageRef = requested.imageRef ?? requested.image_id;
  const copied = {
    ...(typeof snapshotId === "string" && { snapshot: context.require(SNAPSHOTS, snapshotId) }),
    ...(typeof volumeId === "string" && { volume: context.require(VOLUMES, volumeId) }),
  };
  const group = typeof groupId === "string" && groupId !== "" ? context.require(GROUPS, groupId) : undefined;
  const source = {
    ...copied,
    ...(typeof imageRef === "string" && imageRef !== "" && { image: findImage(context, imageRef) }),
    ...(typeof backupId === "string" && { backup: context.require(BACKUPS, backupId) }),
  };
  if (Object.keys(source).length > 1) {
    throw invalidInput("May specify only one of backup, imageRef, snapshot, source volume");
  }
  return { source, group };
}

/** @throws {HttpError} 400, 409 */
function findImage({ services, caller }: BlockStorageContext, ref: string): VolumeImage {
  const id = ref.split("/").at(-1) ?? "";
  const image = isUuidLike(id) ? services.images.find(id, caller.credentials) : undefined;
  const named = image ? [image] : services.images.named(ref, caller.credentials);
  const [found] = named;
  if (named.length > 1) {
    throw conflict(`Multiple matches found for '${ref}', use an ID to be more specific.`);
  }
  if (found === undefined) {
    throw badRequest("Invalid image identifier or unable to access requested image.");
  }
  return found;
}

export function sizeOfSource({ snapshot, volume, backup }: VolumeSource): number | undefined {
  return (snapshot ?? volume ?? backup)?.size;
}

/** Checks the status of a source, and that it fits into the new volume. @throws {HttpError} 400 */
export function assertSourceFits({ snapshot, volume, image, backup }: VolumeSource, size: number): void {
  if (snapshot && snapshot.status !== "available") {
    throw invalidSnapshot("Originating snapshot status must be one of 'available' values");
  }
  if (volume && !["available", "in-use"].includes(volume.status)) {
    throw invalidVolume("Originating source volume status must be one of 'available, in-use' values");
  }
  if (backup && backup.status !== "available") {
    throw invalidBackup("Originating backup status must be one of 'available' values");
  }
  if (snapshot && size < snapshot.size) {
    throw invalidInput(
      `Volume size '${size}'GB cannot be smaller than the snapshot size ${snapshot.size}GB. They must be >= original snapshot size.`,
    );
  }
  if (volume && size < volume.size) {
    throw invalidInput(
      `Volume size '${size}'GB cannot be smaller than original volume size  ${volume.size}GB. They must be >= original volume size.`,
    );
  }
  if (backup && size < backup.size) {
    throw invalidInput(
      `Volume size ${size}GB cannot be smaller than the backup size ${backup.size}GB. It must be >= backup size.`,
    );
  }
  const misfit = image && imageMisfit(image, size);
  if (misfit) {
    throw misfit;
  }
}

/** Returns the error for an image that is not active or does not fit into a volume. */
export function imageMisfit(
  { id, status, size, virtualSize, minDisk }: VolumeImage,
  volumeSize: number,
): HttpError | undefined {
  if (status !== "active") {
    return invalidInput(`Image ${id} is not active.`);
  }
  const imageSize = Math.ceil(Math.max(size ?? 0, virtualSize ?? 0) / GIB);
  if (imageSize > volumeSize) {
    return invalidInput(`Size of specified image ${imageSize}GB is larger than volume size ${volumeSize}GB.`);
  }
  return minDisk > volumeSize
    ? invalidInput(`Volume size ${volumeSize}GB cannot be smaller than the image minDisk size ${minDisk}GB.`)
    : undefined;
}

/** Returns the metadata that a volume keeps of its image. */
export function imageMetadataOf(image: VolumeImage): Readonly<Record<string, string>> {
  const { id, name, checksum, containerFormat, diskFormat, minDisk, minRam, size, properties } = image;
  return {
    ...properties,
    image_id: id,
    ...(name !== null && { image_name: name }),
    ...(checksum !== null && { checksum }),
    ...(containerFormat !== null && { container_format: containerFormat }),
    ...(diskFormat !== null && { disk_format: diskFormat }),
    min_disk: String(minDisk),
    min_ram: String(minRam),
    size: String(size ?? 0),
  };
}
