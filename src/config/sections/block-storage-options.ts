import { forControlPlane, option, unset } from "../option.js";
import { float, integer, splitList, text, type ValueType } from "../value-type.js";

/** A back end of volumes: a pool of storage with a service of its own. */
export interface BackEnd {
  /** `lvmdriver-1`: the `volume_backend_name` of types, and the name of its pool. */
  readonly name: string;
  readonly availabilityZone: string;
  /** GiB. */
  readonly capacity: number;
}

const BACK_END = /^([A-Za-z0-9][\w.-]{0,99})(?::([A-Za-z0-9][\w. -]{0,99}))?(?::([1-9]\d{0,8}))?$/;

const BACK_ENDS: ValueType<readonly BackEnd[]> = {
  expected: "a list of different back ends as name:zone:GiB, separated by commas",
  parse: (values) => {
    const found = splitList(values.at(-1) ?? "").map((item) => {
      const [, name, availabilityZone = "nova", capacity = "10000"] = BACK_END.exec(item) ?? [];
      return name === undefined ? [] : [{ name, availabilityZone, capacity: Number(capacity) }];
    });
    const backEnds = found.flat();
    const isValid = backEnds.length > 0 && found.length === new Set(backEnds.map(({ name }) => name)).size;
    return isValid ? backEnds : undefined;
  },
  format: (backEnds) =>
    backEnds.map(({ name, availabilityZone, capacity }) => `${name}:${availabilityZone}:${capacity}`).join(","),
};

/** Cinder's options are the limits of a project unless it or the class `default` has its own. */
const limit = (most: number, help: string) => option(integer({ min: -1 }), most, `${help} -1 means no limit.`);

export const BLOCK_STORAGE_OPTIONS = forControlPlane({
  back_ends: option(
    BACK_ENDS,
    [{ name: "lvmdriver-1", availabilityZone: "nova", capacity: 10_000 }],
    "Back ends, each with its zone (default nova) and capacity in GiB (default 10000). A back end is a pool with a service and, " +
      "from its first start, a volume type of the same name.",
  ),
  default_volume_type: unset(
    text,
    "Type of volumes that request none, as in cinder.conf. Unset: the type of the first back end.",
  ),
  storage_availability_zone: unset(
    text,
    "Zone of volumes that request none, as in cinder.conf. Unset: the zone of the first back end.",
  ),
  max_over_subscription_ratio: option(
    float({ min: 1 }),
    20,
    "GiB of volumes for each GiB of a back end's capacity, as in cinder.conf. Volumes beyond it end in error.",
  ),
  quota_volumes: limit(10, "Maximum number of volumes of a project."),
  quota_snapshots: limit(10, "Maximum number of snapshots of a project."),
  quota_gigabytes: limit(1000, "Maximum GiB of all volumes and snapshots of a project."),
  quota_backups: limit(10, "Maximum number of backups of a project."),
  quota_backup_gigabytes: limit(1000, "Maximum GiB of all backups of a project."),
  quota_groups: limit(10, "Maximum number of groups of volumes of a project."),
  per_volume_size_limit: limit(-1, "Maximum size of a volume in GiB."),
});
