import { POWER_STATES, type PowerState } from "../../src/virt/index.js";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Run state of a domain. `suspended`: its memory is saved to disk. */
export const DOMAIN_STATES = ["running", "paused", "suspended", "shutoff", "crashed"] as const;
export type DomainState = (typeof DOMAIN_STATES)[number];

export function powerStateOf(state: DomainState): PowerState {
  return state === "shutoff" ? POWER_STATES.shutdown : POWER_STATES[state];
}

export interface DomainDisk {
  readonly path: string;
  readonly format: "raw" | "qcow2";
  /** Such as `vda`. */
  readonly target: string;
  /** `virtio`, `scsi` … */
  readonly bus: string;
}

/** Where the hypervisor finds the data of a volume. */
export interface VolumeSource {
  readonly type: "block" | "file" | "network";
  /** Path of a device or file, or the name of the volume in its network. */
  readonly name: string;
  /** `rbd`, `iscsi` …; empty unless the type is `network`. */
  readonly protocol: string;
}

/** A volume of Block Storage as a disk of a guest. */
export interface VolumeDisk {
  /** Serial number of the disk. */
  readonly volumeId: string;
  readonly source: VolumeSource;
  /** Such as `vdb`. */
  readonly target: string;
  /** `virtio`, `scsi` … */
  readonly bus: string;
  /** `disk`, `cdrom` … */
  readonly device: string;
  readonly isShareable: boolean;
  /** From 1; null if the guest does not boot from it. */
  readonly bootOrder: number | null;
  /** GiB */
  readonly sizeGb: number;
  /** The user's name for the device; null if there is none. */
  readonly tag: string | null;
}

/** A host device, or a part of one, that is assigned to a guest. */
export interface AssignedDevice {
  /** Such as `0000:81:00.0`. */
  readonly address: string;
  readonly resourceClass: string;
  /** Index of the device's part, from 0. */
  readonly part: number;
}

/** The metadata that Nova writes into the XML of its guests. Units: MiB for memory and swap, GiB for disks. */
export interface NovaMetadata {
  readonly displayName: string;
  /** UTC, such as `2026-01-01 00:00:00`. */
  readonly creationTime: string;
  readonly flavor: {
    readonly name: string;
    readonly memoryMb: number;
    readonly rootGb: number;
    readonly swapMb: number;
    readonly ephemeralGb: number;
    readonly vcpus: number;
  };
  readonly projectId: string;
  readonly userId: string;
  /** Empty when booted from a volume. */
  readonly imageId: string;
}

/** A guest as its XML defines it. */
export interface Domain {
  readonly uuid: string;
  /** Such as `instance-0000002a`. */
  readonly name: string;
  readonly memoryMb: number;
  readonly vcpus: number;
  readonly cpuModel: string;
  readonly disks: readonly DomainDisk[];
  readonly volumes: readonly VolumeDisk[];
  readonly devices: readonly AssignedDevice[];
  /** Null if Nova did not create the guest. */
  readonly nova: NovaMetadata | null;
  /** The disks were set aside for another host and have not been restored. */
  readonly leftBehind: boolean;
  /** The guest arrives by a live migration from a host that does not hand guests over. */
  readonly awaited: boolean;
}

/** Returns the GiB of disk in the domain's flavor; 0 for guests that Nova did not create. */
export function diskGbOf({ nova }: Domain): number {
  return nova ? nova.flavor.rootGb + nova.flavor.ephemeralGb + Math.ceil(nova.flavor.swapMb / 1024) : 0;
}
