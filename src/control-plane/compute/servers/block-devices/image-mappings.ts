import type { BlockDevice } from "../../../../records/index.js";
import type { Json } from "../../../http/json.js";

type Mapping = Readonly<Record<string, Json>>;

const NONE: Mapping = {
  source_type: null,
  destination_type: null,
  guest_format: null,
  device_type: null,
  disk_bus: null,
  boot_index: null,
  device_name: null,
  delete_on_termination: false,
  snapshot_id: null,
  volume_id: null,
  volume_size: null,
  image_id: null,
  no_device: null,
  tag: null,
  volume_type: null,
  encrypted: null,
  encryption_secret_uuid: null,
  encryption_format: null,
  encryption_options: null,
};

/** Returns the entry of an image's `block_device_mapping` for a disk in the host's own storage. */
export function localMapping(device: BlockDevice): Mapping {
  return {
    ...NONE,
    ...commonAttributes(device),
    source_type: device.sourceType,
    destination_type: device.destinationType,
    guest_format: device.guestFormat,
    image_id: device.imageId,
  };
}

/** Returns the entry for a new volume from a snapshot of a device's volume. */
export function snapshotMapping(device: BlockDevice, snapshotId: string): Mapping {
  return {
    ...NONE,
    ...commonAttributes(device),
    source_type: "snapshot",
    destination_type: "volume",
    snapshot_id: snapshotId,
  };
}

function commonAttributes(device: BlockDevice): Mapping {
  return {
    disk_bus: device.diskBus,
    device_type: device.deviceType,
    boot_index: device.bootIndex,
    delete_on_termination: device.deleteOnTermination,
    volume_size: device.volumeSize,
    device_name: device.deviceName,
  };
}
