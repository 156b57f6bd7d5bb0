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
