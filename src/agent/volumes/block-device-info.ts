import { type BlockDevice, isRootDevice, isVolume } from "../../records/index.js";
import { LOCAL_DISKS } from "../../virt/driver-host.js";
import type { BlockDeviceInfo, GuestVolume, LocalDisk } from "../../virt/types.js";
import { isSwap } from "./device-names.js";

/** Returns the disks of a guest as its driver gets them. Volumes that do not exist yet are left out. */
export function toBlockDeviceInfo(devices: readonly BlockDevice[]): BlockDeviceInfo {
  if (devices.length === 0) {
    return LOCAL_DISKS;
  }
  const sorted = devices.toSorted((one, other) => compareNames(one.deviceName ?? "", other.deviceName ?? ""));
  const root = devices.find(isRootDevice);
  return {
    rootDeviceName: root?.deviceName ?? LOCAL_DISKS.rootDeviceName,
    localDisks: sorted.filter((device) => !isVolume(device) && !isRootDevice(device)).map(toLocalDisk),
    volumes: sorted.filter((device) => isVolume(device) && device.volumeId !== null).map(toGuestVolume),
  };
}

/** `/dev/vdz` before `/dev/vdaa` */
function compareNames(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : 1);
}

/** Sizes of swap disks are in MiB, all others in GiB. */
function toLocalDisk(device: BlockDevice): LocalDisk {
  const size = device.volumeSize ?? 0;
  return {
    kind: isSwap(device) ? "swap" : "ephemeral",
    deviceName: device.deviceName ?? "",
    diskBus: device.diskBus ?? "virtio",
    sizeMb: isSwap(device) ? size : size * 1024,
    guestFormat: isSwap(device) ? null : device.guestFormat,
  };
}

export function toGuestVolume(device: BlockDevice): GuestVolume {
  return {
    volumeId: device.volumeId ?? "",
    deviceName: device.deviceName ?? "",
    diskBus: device.diskBus ?? "virtio",
    deviceType: device.deviceType ?? "disk",
    bootIndex: device.bootIndex,
    size: device.volumeSize ?? 0,
    tag: device.tag,
    isShareable: device.connectionInfo?.multiattach === true,
    connectionInfo: device.connectionInfo ?? {},
  };
}
