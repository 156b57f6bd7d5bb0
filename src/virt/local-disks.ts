import type { BlockDeviceInfo } from "./types.js";

/** The devices of an instance whose disks are all local: volumes are out of scope. */
export const LOCAL_DISKS: BlockDeviceInfo = Object.freeze({ rootDeviceName: "/dev/vda", blockDeviceMapping: [] });
