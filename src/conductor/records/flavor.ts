import { amount, flag, id, LONG, mapOf, nullable, type RecordOf, ratio, text } from "./field.js";

/** What an instance has of its flavor in columns of its own, too. */
export const FLAVOR_AMOUNTS = {
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: amount,
};

/** A flavor, or the copy of one embedded in an instance (spec 1.6). */
export const FLAVOR = {
  id,
  flavorid: text(),
  name: text(),
  ...FLAVOR_AMOUNTS,
  /** MB */
  swap: amount,
  rxtxFactor: ratio,
  disabled: flag,
  isPublic: flag,
  extraSpecs: mapOf(text()),
  description: nullable(text(LONG)),
};

export type Flavor = RecordOf<typeof FLAVOR>;

/** The columns of an instance that follow its flavor. */
export function flavorColumns(flavor: Flavor): RecordOf<typeof FLAVOR_AMOUNTS> & {
  readonly flavor: Flavor;
  readonly instanceTypeId: number;
} {
  const { vcpus, memoryMb, rootGb, ephemeralGb } = flavor;
  return { flavor, instanceTypeId: flavor.id, vcpus, memoryMb, rootGb, ephemeralGb };
}

/** Amounts by resource class: `{ VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 }`. */
export type Resources = Readonly<Record<string, number>>;

/** The Placement resources of a flavor (spec 1.6). Zero amounts are left out; `resources:RC=n` overrides, n = 0 removes. */
export const flavorResources = (flavor: Flavor, volumeBacked = false): Resources => {
  const amounts: Record<string, number> = {
    VCPU: flavor.vcpus,
    MEMORY_MB: flavor.memoryMb,
    DISK_GB: (volumeBacked ? 0 : flavor.rootGb) + flavor.ephemeralGb + Math.ceil(flavor.swap / 1024),
  };
  for (const [spec, value] of Object.entries(flavor.extraSpecs)) {
    if (spec.startsWith("resources:")) amounts[spec.slice("resources:".length)] = Number.parseInt(value, 10);
  }
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0));
};
