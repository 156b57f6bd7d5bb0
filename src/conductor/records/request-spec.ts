import type { Flavor } from "./flavor.js";
import type { Instance } from "./instance.js";

/** RequestSpec-lite (spec 1.6), persisted per instance. */
export interface RequestSpec {
  readonly instanceUuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly flavor: Flavor;
  readonly imageRef: string;
  readonly isBfv: boolean;
  readonly availabilityZone: string | null;
  readonly numInstances: number;
}

/** BuildRequest-lite: from POST until the conductor maps the instance. Deleting it cancels the build. */
export interface BuildRequest {
  readonly instanceUuid: string;
  readonly projectId: string;
  readonly instance: Instance;
  readonly createdAt: number;
}

/** A destination that the scheduler chose and, for the first of a list, has claimed in Placement. */
export interface Selection {
  readonly host: string;
  readonly node: string;
  readonly computeNodeUuid: string;
  /** The body of the claim: amounts by provider; what a retry on this host claims. */
  readonly allocationRequest: AllocationsByProvider;
  readonly allocationRequestVersion: string;
}

/** `{ [providerUuid]: { resources: { VCPU: 1 } } }` as in Placement's `allocations`. */
export type AllocationsByProvider = Readonly<
  Record<string, { readonly resources: Readonly<Record<string, number>>; readonly generation?: number }>
>;

/** Carried with a build or resize for the reschedule (spec 6.1). */
export interface RetryInfo {
  /** Starts at 1; over `[scheduler] max_attempts` is MaxRetriesExceeded. */
  readonly numAttempts: number;
  readonly hosts: readonly (readonly [host: string, node: string])[];
}
