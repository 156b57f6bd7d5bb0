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

/** Why a destination gave a move back, and how the move ends when no other host takes it (spec 6.3 row 4). */
export interface DestinationFailure {
  /** The host and its node that gave it back. */
  readonly host: string;
  readonly node: string;
  /** The instance's fault. */
  readonly message: string;
  /** For administrators. */
  readonly traceback: string | null;
  /** Nothing happened to the instance, which then keeps its vm_state; otherwise it ends in error. */
  readonly rollback: boolean;
  /** The destination's event, which ends when it is known whether another host takes the move; null: there is none. */
  readonly eventId: number | null;
}

/** Carried with a build or resize for the reschedule (spec 6.1). */
export interface RetryInfo {
  /** Starts at 1; over `[scheduler] max_attempts` is MaxRetriesExceeded. */
  readonly numAttempts: number;
  readonly hosts: readonly (readonly [host: string, node: string])[];
}
