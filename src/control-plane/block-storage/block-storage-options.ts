/** A back end of volumes: a pool of storage with a service of its own. */
export interface BackEnd {
  /** `lvmdriver-1`: the `volume_backend_name` of types, and the name of its pool. */
  readonly name: string;
  readonly availabilityZone: string;
  /** GiB. */
  readonly capacity: number;
}

export interface BlockStorageOptions {
  /** The host of the services. */
  readonly host: string;
  readonly backEnds: readonly BackEnd[];
  /** `[DEFAULT] max_over_subscription_ratio`: provisioned GiB for each GiB of a pool. */
  readonly maxOverSubscriptionRatio: number;
  /** `[DEFAULT] default_volume_type` */
  readonly defaultVolumeType: string;
  /** `[DEFAULT] storage_availability_zone`: the zone of volumes without one. */
  readonly availabilityZone: string;
}

/** Those of devstack. */
export const DEFAULT_BLOCK_STORAGE_OPTIONS: BlockStorageOptions = {
  host: "devstack",
  backEnds: [{ name: "lvmdriver-1", availabilityZone: "nova", capacity: 10_000 }],
  maxOverSubscriptionRatio: 20,
  defaultVolumeType: "lvmdriver-1",
  availabilityZone: "nova",
};
