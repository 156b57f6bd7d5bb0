import type { BlockDevice } from "../../../records/index.js";

export function findDevice(devices: readonly BlockDevice[], uuid: string): BlockDevice | undefined {
  return devices.find((device) => device.uuid === uuid);
}
