import type { BlockDevice } from "../../../../records/index.js";
import { badRequest, type HttpError } from "../../../http/http-error.js";
import { boolFromText } from "../../api/schema-parts.js";
import type { DeviceRequest, FormerDevice } from "./device-schemas.js";

/** A block device that a new server is to have. */
export type DeviceDraft = Pick<
  BlockDevice,
  | "sourceType"
  | "destinationType"
  | "guestFormat"
  | "bootIndex"
  | "deviceName"
  | "diskBus"
  | "deviceType"
  | "volumeId"
  | "snapshotId"
  | "imageId"
  | "volumeSize"
  | "volumeType"
  | "deleteOnTermination"
  | "tag"
>;

/** An entry that removes the image's device of a name, or that adds a device. */
export interface DeviceEntry extends DeviceDraft {
  readonly isRemoval?: boolean;
}

/** Nova's error for invalid block devices. */
export const invalidDevice = (details: string): HttpError => badRequest(`Block Device Mapping is Invalid: ${details}`);

const NO_DEVICE: DeviceDraft = {
  sourceType: "blank",
  destinationType: "local",
  guestFormat: null,
  bootIndex: null,
  deviceName: null,
  diskBus: null,
  deviceType: null,
  volumeId: null,
  snapshotId: null,
  imageId: null,
  volumeSize: null,
  volumeType: null,
  deleteOnTermination: false,
  tag: null,
};

/** A disk in the host's own storage, which is deleted with its server. */
export const LOCAL_DEVICE: DeviceDraft = {
  ...NO_DEVICE,
  bootIndex: -1,
  deviceType: "disk",
  deleteOnTermination: true,
};

/** Returns the root disk of a server that boots from an image. */
export function rootOfImage(imageId: string): DeviceDraft {
  return { ...LOCAL_DEVICE, sourceType: "image", imageId, bootIndex: 0 };
}

/**
 * Reads an entry of `block_device_mapping_v2`, with the checks that need no other records, in Nova's order.
 * @param hasImage whether the request names an image
 * @throws {HttpError} 400
 */
export function readDevice(request: DeviceRequest, hasImage: boolean): DeviceEntry {
  if (request.no_device) {
    return toEntry(request);
  }
  const { source_type: source, uuid, destination_type: destination, volume_type: type, boot_index: index } = request;
  if (source === "blank" && uuid) {
    throw invalidDevice("Invalid device UUID.");
  }
  if (source !== "blank" && !uuid) {
    throw invalidDevice("Missing device UUID.");
  }
  if (source === undefined) {
    throw invalidDevice("Some required fields are missing");
  }
  if (source === "image" && destination === "local" && !(hasImage && Number(index ?? -1) === 0)) {
    throw invalidDevice("Mapping image to local is not supported.");
  }
  if (destination === "local" && type) {
    throw invalidDevice("Specifying a volume_type with destination_type=local is not supported.");
  }
  if (source === "volume" && type) {
    throw invalidDevice("Specifying volume type to existing volume is not supported.");
  }
  return toEntry(source === "blank" ? request : { ...request, [`${source}_id`]: uuid });
}

/** Reads an entry in the format of {@link readDevice}, whose ids have names of their own, as in images. */
export function toEntry(request: DeviceRequest): DeviceEntry {
  const { source_type: source = "blank", destination_type: destination = usualDestination(source) } = request;
  if ((source === "volume" || source === "snapshot") && destination === "local") {
    // Nova accepts it, and then has a reserved volume that no host attaches.
    throw invalidDevice(`Mapping ${source} to local is not supported.`);
  }
  const { boot_index: index, volume_size: size } = request;
  return {
    ...NO_DEVICE,
    sourceType: source,
    destinationType: destination,
    guestFormat: request.guest_format ?? null,
    bootIndex: index === undefined || index === null ? null : Number(index),
    deviceName: withFolder(request.device_name),
    diskBus: request.disk_bus ?? null,
    deviceType: request.device_type ?? null,
    volumeId: request.volume_id?.toLowerCase() ?? null,
    snapshotId: request.snapshot_id?.toLowerCase() ?? null,
    imageId: request.image_id?.toLowerCase() ?? null,
    volumeSize: Number(size ?? 0) || null,
    volumeType: request.volume_type || null,
    deleteOnTermination: boolFromText(String(request.delete_on_termination ?? false)),
    tag: request.tag ?? null,
    isRemoval: Boolean(request.no_device),
  };
}

function usualDestination(source: string): "local" | "volume" {
  return source === "volume" || source === "snapshot" ? "volume" : "local";
}

const FOLDER = "/dev/";

function withFolder(name: string | null | undefined): string | null {
  return name ? `${FOLDER}${shortName(name)}` : null;
}

/** Removes `/dev/` from a device's name. */
function shortName(name: string): string {
  return name.startsWith(FOLDER) ? name.slice(FOLDER.length) : name;
}

/** The name by which the former format recognizes the root disk. */
const ROOT_NAME = "vda";

export function hasRootName({ deviceName }: Pick<DeviceDraft, "deviceName">): boolean {
  return deviceName !== null && shortName(deviceName) === ROOT_NAME;
}

/** Whether an entry of the former format is the disk to boot from, whatever its bus: `/dev/vda`, `sda`. */
export function hasFirstLetter({ device_name: name }: FormerDevice): boolean {
  return /^(?:\/dev\/)?(?:x?v|s|h)?d?a\d*$/.test(name ?? "");
}

/**
 * Reads `block_device_mapping`. The disk named `vda` is the root disk; without one it is the image.
 * @param imageId empty: none
 * @param hasRoot whether the image defines the root disk
 * @throws {HttpError} 400
 */
export function readFormerDevices(
  requests: readonly FormerDevice[],
  imageId: string,
  hasRoot: boolean,
): readonly DeviceEntry[] {
  const devices = requests.map(readFormerDevice);
  if (hasRoot) {
    return devices.map((device) => ({ ...device, bootIndex: -1 }));
  }
  const isRoot = (device: DeviceEntry) => device.sourceType !== "blank" && hasRootName(device);
  const indexed = devices.map((device) => ({
    ...device,
    bootIndex: isRoot(device) ? 0 : device.isRemoval === true ? null : -1,
  }));
  return !devices.some(isRoot) && imageId !== "" ? [rootOfImage(imageId), ...indexed] : indexed;
}

function readFormerDevice(request: FormerDevice): DeviceEntry {
  const { virtual_name: name = "", snapshot_id: snapshot, volume_id: volume } = request;
  if (name === "swap" || /^ephemeral(\d|[1-9]\d+)$/.test(name)) {
    const guest_format = name === "swap" ? "swap" : null;
    return toEntry({ ...request, source_type: "blank", guest_format, delete_on_termination: true });
  }
  if (snapshot !== undefined) {
    return toEntry({ ...request, source_type: "snapshot" });
  }
  if (volume !== undefined) {
    return toEntry({ ...request, source_type: "volume" });
  }
  if (request.no_device) {
    return toEntry(request);
  }
  throw invalidDevice("Unrecognized legacy format.");
}

export function isSwap({ sourceType, destinationType, guestFormat }: DeviceDraft): boolean {
  return sourceType === "blank" && destinationType === "local" && guestFormat === "swap";
}

export function isEphemeral(device: DeviceDraft): boolean {
  return device.sourceType === "blank" && device.destinationType === "local" && !isSwap(device);
}
