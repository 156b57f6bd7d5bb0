import { POWER_STATES, type PowerState } from "../../src/virt/index.js";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What a domain does now. `suspended`: memory saved to disk. */
export const DOMAIN_STATES = ["running", "paused", "suspended", "shutoff", "crashed"] as const;
export type DomainState = (typeof DOMAIN_STATES)[number];

export function powerStateOf(state: DomainState): PowerState {
  return state === "shutoff" ? POWER_STATES.shutdown : POWER_STATES[state];
}

export interface DomainDisk {
  readonly path: string;
  readonly format: "raw" | "qcow2";
  /** `vda` */
  readonly target: string;
}

/** A host device, or a part of one, that a guest has. */
export interface AssignedDevice {
  /** `0000:81:00.0` */
  readonly address: string;
  readonly resourceClass: string;
  /** Which of the device's parts: 0, 1, … */
  readonly part: number;
}

/** What Nova says of its guests in their metadata. Sizes: MiB for memory and swap, GiB for disks. */
export interface NovaMetadata {
  readonly displayName: string;
  /** `2026-01-01 00:00:00`, UTC */
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
  /** `instance-0000002a` */
  readonly name: string;
  readonly memoryMb: number;
  readonly vcpus: number;
  readonly cpuModel: string;
  readonly disks: readonly DomainDisk[];
  readonly devices: readonly AssignedDevice[];
  /** Null: not a guest of Nova. */
  readonly nova: NovaMetadata | null;
  /** Its disks were set aside for another host, and have not been brought back. */
  readonly leftBehind: boolean;
  /** A live migration is to bring it, from a host that hands no guests over. */
  readonly awaited: boolean;
}

/** GiB that the domain's flavor gives to its disks; unknown, so 0, for guests that are not Nova's. */
export function diskGbOf({ nova }: Domain): number {
  return nova ? nova.flavor.rootGb + nova.flavor.ephemeralGb + Math.ceil(nova.flavor.swapMb / 1024) : 0;
}
