/** A flavor, or the copy of one embedded in an instance (spec 1.6). */
export interface Flavor {
  readonly id: number;
  readonly flavorid: string;
  readonly name: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly rootGb: number;
  readonly ephemeralGb: number;
  /** MB */
  readonly swap: number;
  readonly rxtxFactor: number;
  readonly disabled: boolean;
  readonly isPublic: boolean;
  readonly extraSpecs: Readonly<Record<string, string>>;
  readonly description: string | null;
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
