import { type BlockDevice, type Instance, imagePropertiesOf, isRootDevice, isVolume } from "../../records/index.js";

/** Name and bus of a device in its guest. */
export interface DeviceAddress {
  /** `/dev/vdb` */
  readonly deviceName: string;
  /** `virtio`, `scsi` … */
  readonly diskBus: string;
  /** `disk`, `cdrom` … */
  readonly deviceType: string;
}

/** The beginning of the names of the disks on a bus, as libvirt's driver chooses it. */
const PREFIXES: Readonly<Record<string, string>> = {
  virtio: "vd",
  scsi: "sd",
  sata: "sd",
  usb: "sd",
  ide: "hd",
  fdc: "fd",
  xen: "xvd",
};

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];

/** The letters of names in their order: `a`, … `z`, `aa`, … `zz`. */
const SUFFIXES = [...LETTERS, ...LETTERS.flatMap((first) => LETTERS.map((second) => first + second))];

/**
 * Returns names for the devices without one, by device. The root device is first, then ephemeral disks, swap, and volumes.
 * As libvirt's driver, it does not honour names that users request.
 * @param chosen whether a device has a name that a host has chosen
 */
export function chooseDeviceNames(
  instance: Instance,
  devices: readonly BlockDevice[],
  chosen: (device: BlockDevice) => boolean,
): ReadonlyMap<BlockDevice, DeviceAddress> {
  const addresses = new Map<BlockDevice, DeviceAddress>();
  const used = new Set(devices.filter(chosen).map(({ deviceName }) => deviceName));
  const { hw_disk_bus: defaultBus, hw_cdrom_bus: cdromBus } = imagePropertiesOf(instance);
  for (const device of devices.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const deviceType = device.deviceType ?? "disk";
    const diskBus = device.diskBus ?? (deviceType === "cdrom" ? (cdromBus ?? "sata") : (defaultBus ?? "virtio"));
    const own = chosen(device) ? device.deviceName : null;
    const deviceName = own ?? firstFree(PREFIXES[diskBus] ?? "vd", used);
    used.add(deviceName);
    addresses.set(device, { deviceName, diskBus, deviceType });
  }
  return addresses;
}

function firstFree(prefix: string, used: ReadonlySet<string | null>): string {
  const suffix = SUFFIXES.find((letters) => !used.has(`/dev/${prefix}${letters}`));
  return `/dev/${prefix}${suffix ?? "zz"}`;
}

function rankOf(device: BlockDevice): number {
  if (isRootDevice(device)) {
    return 0;
  }
  return isVolume(device) ? 3 : isSwap(device) ? 2 : 1;
}

export function isSwap({ guestFormat }: Pick<BlockDevice, "guestFormat">): boolean {
  return guestFormat === "swap";
}
