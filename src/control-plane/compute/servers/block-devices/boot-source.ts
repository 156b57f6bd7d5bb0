import type { Flavor } from "../../../../records/index.js";
import { badRequest } from "../../../http/http-error.js";
import type { ServerImage } from "../../../image/server-images.js";
import type { Call } from "../../api/call.js";
import { assertFlavorFits, assertZeroDiskAllowed } from "../image-flavor-checks.js";
import type { CreateBody } from "../server-schemas.js";
import { type DeviceDraft, type DeviceEntry, hasFirstLetter, invalidDevice, readDevice } from "./device-requests.js";
import type { FormerDevice } from "./device-schemas.js";

/** The block devices of a request, before those of image and flavor are added. */
export interface RequestedDevices {
  readonly devices: readonly DeviceEntry[];
  /** In the former format: what they are depends on the image. */
  readonly former: readonly FormerDevice[];
}

/** @throws {HttpError} 400 */
export function readRequestedDevices({
  imageRef = "",
  block_device_mapping: former = [],
  block_device_mapping_v2: requested = [],
}: CreateBody["server"]): RequestedDevices {
  if (former.length > 0 && requested.length > 0) {
    throw badRequest("Using different block_device_mapping syntaxes is not allowed in the same request.");
  }
  if (imageRef === "" && former.length === 0 && requested.length === 0) {
    throw badRequest("Missing imageRef attribute");
  }
  return { devices: requested.map((device) => readDevice(device, imageRef !== "")), former };
}

/** The disk from which a server boots: an image, or a volume with the properties of the image that it was made from. */
export interface BootSource {
  /** The requested image; empty: none. */
  readonly imageRef: string;
  /** Absent if nothing is known of the disk to boot from. */
  readonly image?: Pick<ServerImage, "status" | "size" | "minDisk" | "minRam">;
  /** The properties that the server saves. */
  readonly properties: Readonly<Record<string, string>>;
}

/** Finds what a server boots from. @throws {HttpError} 400 */
export function findBootSource(call: Call, imageRef: string, { devices, former }: RequestedDevices): BootSource {
  if (imageRef !== "") {
    const image = call.deps.images.find(imageRef, call.credentials);
    if (image === undefined) {
      throw badRequest("Can not find requested image");
    }
    return { imageRef, image, properties: image.noted };
  }
  const root = devices.find(({ bootIndex }) => bootIndex === 0);
  if (root) {
    return sourceOf(call, root);
  }
  const first = former.find(hasFirstLetter);
  return first
    ? sourceOf(call, { imageId: null, volumeId: first.volume_id ?? null, snapshotId: first.snapshot_id ?? null })
    : { imageRef, properties: {} };
}

function sourceOf(
  call: Call,
  { imageId, volumeId, snapshotId }: Pick<DeviceDraft, "imageId" | "volumeId" | "snapshotId">,
): BootSource {
  const { images, volumes } = call.deps;
  if (imageId !== null) {
    const image = images.find(imageId, call.credentials);
    if (image === undefined) {
      throw invalidDevice(`failed to get image ${imageId}.`);
    }
    return { imageRef: "", image, properties: image.noted };
  }
  const snapshot = snapshotId === null ? undefined : volumes.snapshot(snapshotId, call.credentials);
  if (snapshotId !== null && snapshot === undefined) {
    throw badRequest(`Snapshot ${snapshotId} could not be found.`);
  }
  const id = snapshot?.volumeId ?? volumeId;
  return id === null ? { imageRef: "", properties: {} } : sourceOfVolume(call, id);
}

/** Attributes of an image that Block Storage stores among its properties. */
const IMAGE_ATTRIBUTES = ["image_id", "image_name", "size", "checksum", "container_format", "disk_format"];

function sourceOfVolume({ deps, credentials }: Call, id: string): BootSource {
  const volume = deps.volumes.volume(id, credentials);
  if (volume === undefined) {
    throw invalidDevice(`failed to get volume ${id}.`);
  }
  if (!volume.isBootable) {
    throw badRequest(`Block Device ${id} is not bootable.`);
  }
  const { min_ram, min_disk, ...metadata } = volume.imageMetadata;
  const [minRam, minDisk] = [Number(min_ram) || 0, Number(min_disk) || 0];
  const properties = Object.entries(metadata).filter(([name]) => !IMAGE_ATTRIBUTES.includes(name));
  return {
    imageRef: "",
    image: { status: "active", size: volume.size * GIB, minDisk, minRam },
    properties: { ...Object.fromEntries(properties), min_ram: String(minRam), min_disk: String(minDisk) },
  };
}

const GIB = 1024 ** 3;

/**
 * Checks that the disk to boot from can be used with the flavor.
 * @param root undefined: the root disk is the flavor's
 * @throws {HttpError} 400, 403
 */
export function assertSourceFits(
  call: Call,
  { imageRef, image }: BootSource,
  flavor: Flavor,
  root: DeviceDraft | undefined,
): void {
  if (image === undefined) {
    return;
  }
  if (image.status !== "active") {
    throw badRequest(`Image ${imageRef === "" ? "None" : imageRef} is not active.`);
  }
  if (root?.destinationType !== "volume") {
    assertFlavorFits(flavor, image);
    assertZeroDiskAllowed(call, flavor);
    return;
  }
  assertFlavorFits({ memoryMb: flavor.memoryMb, rootGb: 0 }, image);
  const [size, minimum] = [(root.volumeSize ?? 0) * GIB, image.minDisk * GIB];
  if (root.volumeSize !== null && minimum > size) {
    throw badRequest(
      `Volume is smaller than the minimum size specified in image metadata. Volume size is ${size} bytes, minimum size is ${minimum} bytes.`,
    );
  }
}
