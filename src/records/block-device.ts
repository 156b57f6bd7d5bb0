import {
  amount,
  anyObject,
  flag,
  id,
  integer,
  name,
  nullable,
  oneOf,
  type RecordOf,
  text,
  time,
  uuid,
  withDefault,
} from "./field.js";
import type { Instance } from "./instance.js";

const SOURCE_TYPES = ["image", "volume", "snapshot", "blank"] as const;

const textOrNull = withDefault(nullable(text()), null);
const nameOrNull = withDefault(nullable(name), null);

/** The fields of a block device that change after its creation. */
export const BLOCK_DEVICE_CHANGES = {
  /** `/dev/vda`; null until a host has chosen it. */
  deviceName: textOrNull,
  /** Bus of the disk in the guest: `virtio`; null until a host has chosen it. */
  diskBus: textOrNull,
  /** `disk`, `cdrom` … */
  deviceType: textOrNull,
  /** The volume; null until a host has created it from an image, a snapshot or blank. */
  volumeId: nameOrNull,
  /** GiB; null: the size of the source. */
  volumeSize: withDefault(nullable(amount), null),
  /** The attachment of Block Storage. While a server is moved, this is the one that the next host uses. */
  attachmentId: nameOrNull,
  /** The response of Block Storage to the connector of the present host. */
  connectionInfo: withDefault(nullable(anyObject), null),
  deleteOnTermination: withDefault(flag, false),
};

/**
 * A block device of a server, as Nova's BlockDeviceMapping. Servers whose only disks are those of their flavor have none:
 * their root disk follows from the image.
 */
export const BLOCK_DEVICE = {
  id,
  uuid,
  instanceUuid: uuid,
  sourceType: oneOf(SOURCE_TYPES),
  destinationType: oneOf(["local", "volume"]),
  /** `swap`, or the file system of an ephemeral disk. */
  guestFormat: textOrNull,
  /** Position in the boot order; 0: the root disk; null or negative: not bootable. */
  bootIndex: withDefault(nullable(integer(-1, 255)), null),
  snapshotId: nameOrNull,
  imageId: nameOrNull,
  /** Id of the type of a new volume. */
  volumeType: nameOrNull,
  /** The user's name for the device in the guest. */
  tag: textOrNull,
  ...BLOCK_DEVICE_CHANGES,
  createdAt: time,
  updatedAt: withDefault(nullable(time), null),
};

export type BlockDevice = RecordOf<typeof BLOCK_DEVICE>;
export type BlockDeviceChanges = Partial<RecordOf<typeof BLOCK_DEVICE_CHANGES>>;

/** A block device that is created together with its server, or reserved by a host. */
export type NewBlockDevice = Pick<BlockDevice, "instanceUuid" | "sourceType" | "destinationType"> &
  Partial<Omit<BlockDevice, "id" | "uuid" | "createdAt" | "updatedAt">>;

/** An entry in the system metadata of a server whose disks have records: hosts ask for them only if it is there. */
export const DEVICES_MARK = { block_devices: "True" } as const;

/** Whether the disks of a server have records. Those of all others follow from its flavor and its image. */
export function hasDevices({ systemMetadata }: Pick<Instance, "systemMetadata">): boolean {
  return systemMetadata.block_devices === DEVICES_MARK.block_devices;
}

/** Whether a device is a volume of Block Storage. */
export function isVolume({ destinationType }: Pick<BlockDevice, "destinationType">): boolean {
  return destinationType === "volume";
}

/** Whether a server boots from this device. */
export function isRootDevice({ bootIndex }: Pick<BlockDevice, "bootIndex">): boolean {
  return bootIndex === 0;
}
