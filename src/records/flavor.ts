import {
  amount,
  defaultsOf,
  flag,
  id,
  LONG,
  mapOf,
  nullable,
  pick,
  type RecordOf,
  ratio,
  text,
  withDefault,
} from "./field.js";

/** The flavor fields that an instance also has as columns. */
export const FLAVOR_AMOUNTS = {
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: withDefault(amount, 0),
};

/** A flavor, or the copy embedded in an instance (spec 1.6). */
export const FLAVOR = {
  id,
  /** The id that users see. */
  flavorid: text(),
  name: text(),
  ...FLAVOR_AMOUNTS,
  /** In MB. */
  swap: withDefault(amount, 0),
  rxtxFactor: withDefault(ratio, 1),
  disabled: withDefault(flag, false),
  isPublic: withDefault(flag, true),
  /** `hw:cpu_policy`, `resources:CUSTOM_…`: requirements beyond the sizes. */
  extraSpecs: withDefault(mapOf(text()), {}),
  description: withDefault(nullable(text(LONG)), null),
};

export type Flavor = RecordOf<typeof FLAVOR>;

type FlavorAmounts = RecordOf<typeof FLAVOR_AMOUNTS>;

/** The fields that a new flavor requires. */
export type NewFlavor = Pick<Flavor, "flavorid" | "name" | "vcpus" | "memoryMb" | "rootGb"> &
  Partial<Omit<Flavor, "id">>;

/** Returns a new flavor with Nova's defaults for missing fields. */
export function newFlavor(values: NewFlavor): Omit<Flavor, "id"> {
  return { ...defaultsOf(FLAVOR), ...values };
}

/** Returns the columns of an instance that are copied from its flavor. */
export function flavorColumns(flavor: Flavor): FlavorAmounts & {
  readonly flavor: Flavor;
  readonly instanceTypeId: number;
} {
  return { flavor, instanceTypeId: flavor.id, ...pick(flavor, FLAVOR_AMOUNTS) };
}

/** The names of a flavor's sizes in the Compute API's servers and in a cluster file. */
const FLAVOR_API_NAMES = {
  vcpus: "vcpus",
  memoryMb: "ram",
  rootGb: "disk",
  ephemeralGb: "ephemeral",
  swap: "swap",
} as const satisfies { readonly [K in keyof Flavor]?: string };

type SizedField = keyof typeof FLAVOR_API_NAMES;
type SizeName = (typeof FLAVOR_API_NAMES)[SizedField];

const SIZES = Object.entries(FLAVOR_API_NAMES) as readonly (readonly [SizedField, SizeName])[];

export type FlavorSizes = Pick<Flavor, SizedField>;

/** Returns the sizes with the Compute API's names. */
export function sizesForApi(flavor: FlavorSizes): Readonly<Record<SizeName, number>> {
  const sizes: Partial<Record<SizeName, number>> = {};
  for (const [field, name] of SIZES) {
    sizes[name] = flavor[field];
  }
  return sizes as Record<SizeName, number>;
}

/** @param read returns the Compute API's value for a name. */
export function sizesFromApi(read: (name: SizeName) => number): FlavorSizes {
  return Object.fromEntries(SIZES.map(([field, name]) => [field, read(name)])) as unknown as FlavorSizes;
}

/** The sizes of a server's local disks: root, ephemeral and swap. */
type LocalDisks = Pick<Flavor, "rootGb" | "ephemeralGb" | "swap">;

/** Returns the GB of local disk that a server of this flavor uses. A volume as root disk does not count. */
export function localDiskGb({ rootGb, ephemeralGb, swap }: LocalDisks, volumeBacked: boolean): number {
  return (volumeBacked ? 0 : rootGb) + ephemeralGb + Math.ceil(swap / 1024);
}

/** Returns whether both flavors have the same local disks. */
export function hasSameDisks(one: LocalDisks, other: LocalDisks): boolean {
  return one.rootGb === other.rootGb && one.ephemeralGb === other.ephemeralGb && one.swap === other.swap;
}

/** Amounts by resource class: `{ VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 }`. */
export type Resources = Readonly<Record<string, number>>;
