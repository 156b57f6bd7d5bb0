import type { InstanceChanges } from "../records/index.js";

/** An instance that no host has (spec 1.4); without a host it is in no availability zone. */
export const UNPLACED = {
  host: null,
  node: null,
  computeId: null,
  availabilityZone: null,
} as const satisfies InstanceChanges;
