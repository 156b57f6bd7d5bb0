import type { Flavor, NewBlockDevice } from "../../../../records/index.js";
import { isObject } from "../../../../runtime/collections.js";
import { badRequest } from "../../../http/http-error.js";
import type { Call } from "../../api/call.js";
import { boolFromText } from "../../api/schema-parts.js";
import type { BootSource, RequestedDevices } from "./boot-source.js";
import {
  type DeviceDraft,
  hasRootName,
  invalidDevice,
  isEphemeral,
  isSwap,
  LOCAL_DEVICE,
  readFormerDevices,
  toEntry,
} from "./device-requests.js";
import type { DeviceRequest, FormerDevice } from "./device-schemas.js";
import { asInvalidVolume, assertMultiattachSupported } from "./volume-rules.js";

/** Max local disks of a server (root, ephemeral disks, swap): Nova's default of `max_local_block_devices`. */
const MAX_LOCAL_DEVICES = 3;

/**
 * Returns the block devices of a new server: those of the request, then those that its image and its flavor define.
 * None for a server with the disks of its flavor only.
 * @throws {HttpError} 400
 */
export function bootDevices(
  { devices: requested, former }: RequestedDevices,
  { imageRef, properties }: BootSource,
  flavor: Flavor,
  count: number,
): readonly DeviceDraft[] {
  if (imageRef !== "" && requested.some((device) => device.destinationType === "volume" && hasRootName(device))) {
    throw badRequest("The volume cannot be assigned the same device name as the root device vda");
  }
  const ofImage = imageDevices(properties);
  const hasRoot = ofImage.some(({ bootIndex }) => bootIndex === 0);
  const isFormer = requested.length === 0;
  const own = isFormer
    ? readFormerDevices(former, imageRef, hasRoot)
    : requested.filter(({ bootIndex, sourceType }) => !(hasRoot && bootIndex === 0 && sourceType === "image"));
  if (isFormer && former.length === 0 && ofImage.length === 0) {
    return [];
  }
  const replaced = new Set(own.flatMap(({ deviceName }) => deviceName ?? []));
  const all = [...own, ...ofImage.filter(({ deviceName }) => !replaced.has(deviceName ?? ""))];
  if (count > 1 && all.some(({ sourceType, isRemoval }) => !isRemoval && sourceType === "volume")) {
    throw badRequest("Cannot attach one or more volumes to multiple instances");
  }
  const present = all.filter(({ isRemoval }) => !isRemoval).map(({ isRemoval: _isRemoval, ...device }) => device);
  return [...present, ...flavorDevices(flavor, present)];
}

/** Returns the block devices that an image of a volume-backed server defines. */
function imageDevices({ block_device_mapping: text, bdm_v2: isCurrent }: BootSource["properties"]) {
  if (text === undefined) {
    return [];
  }
  const devices = parseDevices(text);
  return boolFromText(isCurrent) ? devices.map(toEntry) : readFormerDevices(devices as FormerDevice[], "", false);
}

/** @throws {HttpError} 400 */
function parseDevices(text: string): readonly DeviceRequest[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every(isObject)) {
      return value;
    }
  } catch {
    // The same error follows.
  }
  throw invalidDevice("Unrecognized legacy format.");
}

/** Returns the local disks of a flavor that the devices do not replace. */
export function flavorDevices({ ephemeralGb, swap }: Flavor, devices: readonly DeviceDraft[]): readonly DeviceDraft[] {
  return [
    ...(ephemeralGb > 0 && !devices.some(isEphemeral) ? [{ ...LOCAL_DEVICE, volumeSize: ephemeralGb }] : []),
    ...(swap > 0 && !devices.some(isSwap) ? [{ ...LOCAL_DEVICE, volumeSize: swap, guestFormat: "swap" }] : []),
  ];
}

const DISK_BUSES = ["fdc", "ide", "sata", "scsi", "usb", "virtio", "xen", "lxc", "uml"];

/**
 * Checks the devices of a new server, in Nova's order, and returns them with sizes and the ids of volume types.
 * @throws {HttpError} 400
 */
export function validateDevices(
  call: Call,
  devices: readonly DeviceDraft[],
  { flavor, imageRef }: { readonly flavor: Flavor; readonly imageRef: string },
): readonly DeviceDraft[] {
  if (devices.length === 0) {
    return devices;
  }
  assertVolumesExist(call, devices);
  const indexes = devices.flatMap(({ bootIndex }) => (bootIndex !== null && bootIndex >= 0 ? [bootIndex] : [])).sort();
  if (indexes.length === 0 || indexes.some((index, position) => index !== position)) {
    throw invalidDevice("Boot sequence for the instance and image/block device mapping combination is not valid.");
  }
  const complete = devices.map((device) => completeDevice(call, device, imageRef));
  assertLocalDevices(complete, flavor);
  return complete.map((device) => ({ ...device, volumeSize: device.volumeSize ?? flavorSize(device, flavor) }));
}

/** Nova reads all existing volumes before it checks anything else. @throws {HttpError} 400 */
function assertVolumesExist({ deps, credentials }: Call, devices: readonly DeviceDraft[]): void {
  const missing = devices.find(({ volumeId: id }) => id !== null && !deps.volumes.volume(id, credentials));
  if (missing) {
    throw badRequest(`Volume ${missing.volumeId} could not be found.`);
  }
}

function completeDevice(call: Call, device: DeviceDraft, imageRef: string): DeviceDraft {
  const volumeType = device.volumeType === null ? null : typeOf(call, device.volumeType);
  const volumeSize = sizeOf(call, device, imageRef);
  if (device.diskBus !== null && !DISK_BUSES.includes(device.diskBus)) {
    throw badRequest("Block Device Mapping is Invalid.");
  }
  return { ...device, volumeType, volumeSize };
}

function typeOf({ deps, credentials }: Call, nameOrId: string): string {
  const id = deps.volumes.typeId(nameOrId, credentials);
  if (id === undefined) {
    throw badRequest(`Volume type ${nameOrId} could not be found.`);
  }
  return id;
}

/** Returns the size of a device in GiB, or in MiB for swap; null: the flavor's. */
function sizeOf(call: Call, device: DeviceDraft, imageRef: string): number | null {
  const { sourceType, destinationType, imageId, volumeId, snapshotId, volumeSize } = device;
  const { images, volumes } = call.deps;
  if (imageId !== null) {
    if (imageId !== imageRef && !images.find(imageId, call.credentials)) {
      throw invalidDevice(`failed to get image ${imageId}.`);
    }
    if (sourceType === "image" && destinationType === "volume" && volumeSize === null) {
      throw badRequest("Images with destination_type 'volume' need to have a non-zero size specified");
    }
    return volumeSize;
  }
  if (volumeId !== null) {
    const volume = volumes.volume(volumeId, call.credentials);
    assertMultiattachSupported(call, volume);
    return volume?.size ?? null;
  }
  if (snapshotId !== null) {
    const snapshot = volumes.snapshot(snapshotId, call.credentials);
    if (snapshot === undefined) {
      throw invalidDevice(`failed to get snapshot ${snapshotId}.`);
    }
    return volumeSize ?? snapshot.size;
  }
  if (sourceType === "blank" && destinationType === "volume" && volumeSize === null) {
    throw badRequest("Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size");
  }
  return volumeSize;
}

function flavorSize(device: DeviceDraft, { ephemeralGb, swap }: Flavor): number | null {
  return isSwap(device) ? swap : isEphemeral(device) ? ephemeralGb : null;
}

/** @throws {HttpError} 400 */
function assertLocalDevices(devices: readonly DeviceDraft[], flavor: Flavor): void {
  const ephemeral = devices.filter(isEphemeral).map(({ volumeSize }) => volumeSize ?? flavor.ephemeralGb);
  if (ephemeral.reduce((sum, size) => sum + size, 0) > flavor.ephemeralGb) {
    throw badRequest(
      "Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used.",
    );
  }
  const [swap, second] = devices.filter(isSwap);
  if (second !== undefined) {
    throw invalidDevice("More than one swap drive requested.");
  }
  if (swap !== undefined && (swap.volumeSize ?? 0) > flavor.swap) {
    throw badRequest("Swap drive requested is larger than instance type allows.");
  }
  if (devices.filter(({ destinationType }) => destinationType === "local").length > MAX_LOCAL_DEVICES) {
    throw invalidDevice("You specified more local devices than the limit allows");
  }
}

/**
 * Stores the block devices of a new server and reserves its existing volumes, in the transaction that stores the server.
 * @throws {HttpError} 400
 */
export function storeDevices(call: Call, instanceUuid: string, devices: readonly DeviceDraft[]): void {
  const { store, volumes } = call.deps;
  for (const device of devices) {
    const attachmentId =
      device.volumeId === null
        ? null
        : asInvalidVolume(call, () => volumes.reserve(device.volumeId ?? "", instanceUuid));
    const record: NewBlockDevice = { ...device, instanceUuid, attachmentId };
    store.blockDevices.create(record);
  }
}
