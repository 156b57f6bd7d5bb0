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

/** What an instance has of its flavor in columns of its own, too. */
export const FLAVOR_AMOUNTS = {
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: withDefault(amount, 0),
};

/** A flavor, or the copy of one embedded in an instance (spec 1.6). */
export const FLAVOR = {
  id,
  /** The id that users know. */
  flavorid: text(),
  name: text(),
  ...FLAVOR_AMOUNTS,
  /** MB */
  swap: withDefault(amount, 0),
  rxtxFactor: withDefault(ratio, 1),
  disabled: withDefault(flag, false),
  isPublic: withDefault(flag, true),
  /** `hw:cpu_policy`, `resources:CUSTOM_…`: what it asks for beside its sizes. */
  extraSpecs: withDefault(mapOf(text()), {}),
  description: withDefault(nullable(text(LONG)), null),
};

export type Flavor = RecordOf<typeof FLAVOR>;

type FlavorAmounts = RecordOf<typeof FLAVOR_AMOUNTS>;

/** What a new flavor must be given. */
export type NewFlavor = Pick<Flavor, "flavorid" | "name" | "vcpus" | "memoryMb" | "rootGb"> &
  Partial<Omit<Flavor, "id">>;

/** A flavor with what the caller left out as Nova has it for a new one. */
export function newFlavor(values: NewFlavor): Omit<Flavor, "id"> {
  return { ...defaultsOf(FLAVOR), ...values };
}

/** The columns of an instance that follow its flavor. */
export function flavorColumns(flavor: Flavor): FlavorAmounts & {
  readonly flavor: Flavor;
  readonly instanceTypeId: number;
} {
  return { flavor, instanceTypeId: flavor.id, ...pick(flavor, FLAVOR_AMOUNTS) };
}

/** The names that the Compute API gives the sizes of a flavor within a server, and that a cluster file has for them. */
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

/** What a flavor gives a server, in the fields of the record. */
export type FlavorSizes = Pick<Flavor, SizedField>;

/** The sizes as a server of the Compute API shows them. */
export function sizesForApi(flavor: FlavorSizes): Readonly<Record<SizeName, number>> {
  const sizes: Partial<Record<SizeName, number>> = {};
  for (const [field, name] of SIZES) {
    sizes[name] = flavor[field];
  }
  return sizes as Record<SizeName, number>;
}

/** @param read gives the number that the Compute API shows under a name. */
export function sizesFromApi(read: (name: SizeName) => number): FlavorSizes {
  return Object.fromEntries(SIZES.map(([field, name]) => [field, read(name)])) as unknown as FlavorSizes;
}

/** What decides the local disks of a server: its root disk, its ephemeral disk and its swap disk. */
type LocalDisks = Pick<Flavor, "rootGb" | "ephemeralGb" | "swap">;

/** GB of local disk that a server of this flavor takes; with a volume as its root disk, the flavor's root disk is none of it. */
export function localDiskGb({ rootGb, ephemeralGb, swap }: LocalDisks, volumeBacked: boolean): number {
  return (volumeBacked ? 0 : rootGb) + ephemeralGb + Math.ceil(swap / 1024);
}

/** Whether a server has the same local disks with either flavor. */
export function hasSameDisks(one: LocalDisks, other: LocalDisks): boolean {
  return one.rootGb === other.rootGb && one.ephemeralGb === other.ephemeralGb && one.swap === other.swap;
}

/** Amounts by resource class: `{ VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 }`. */
export type Resources = Readonly<Record<string, number>>;
