import type { BackEnd } from "../../config/sections/block-storage-options.js";

/** Settings of the Block Storage service: section `[block_storage]`. */
export interface BlockStorageOptions {
  /** The host of the services. */
  readonly host: string;
  readonly backEnds: readonly BackEnd[];
  /** `max_over_subscription_ratio`: provisioned GiB for each GiB of a pool. */
  readonly maxOverSubscriptionRatio: number;
  /** `default_volume_type`; null: that of the first back end. */
  readonly defaultVolumeType: string | null;
  /** `storage_availability_zone`: the zone of volumes without one; null: that of the first back end. */
  readonly storageAvailabilityZone: string | null;
  /** Limits of projects without their own, by quota; -1: none. Absent ones are Cinder's. */
  readonly quotas: Readonly<Record<string, number>>;
}

/** The settings of devstack. */
export const DEFAULT_BLOCK_STORAGE_OPTIONS: BlockStorageOptions = {
  host: "devstack",
  backEnds: [{ name: "lvmdriver-1", availabilityZone: "nova", capacity: 10_000 }],
  maxOverSubscriptionRatio: 20,
  defaultVolumeType: null,
  storageAvailabilityZone: null,
  quotas: {},
};

/** Returns the name of the type of volumes that request none. */
export function defaultTypeName({ defaultVolumeType, backEnds }: BlockStorageOptions): string {
  return defaultVolumeType ?? backEnds[0]?.name ?? "";
}

/** Returns the zone of volumes that request none. */
export function defaultZone({ storageAvailabilityZone, backEnds }: BlockStorageOptions): string {
  return storageAvailabilityZone ?? backEnds[0]?.availabilityZone ?? "nova";
}
