import {
  amount,
  type Field,
  flag,
  id,
  integer,
  LONG,
  LONGEST,
  listOf,
  MAX_INTEGER,
  mapOf,
  name,
  nullable,
  object,
  oneOf,
  optional,
  type RecordOf,
  text,
  time,
  uuid,
} from "./field.js";
import { FLAVOR } from "./flavor.js";
import { INSTANCE } from "./instance.js";

/** A reduced RequestSpec (spec 1.6), persisted per instance. */
export const REQUEST_SPEC = {
  instanceUuid: uuid,
  projectId: text(),
  userId: text(),
  flavor: object(FLAVOR),
  imageRef: text(),
  isBfv: flag,
  availabilityZone: nullable(text()),
  numInstances: integer(1, MAX_INTEGER),
  /** The hints that the available filters evaluate, each as a list. */
  schedulerHints: mapOf(listOf(text())),
};

export type RequestSpec = RecordOf<typeof REQUEST_SPEC>;

/**
 * A reduced BuildRequest: exists from the POST until the conductor maps the instance. Deleting it cancels the build.
 */
export const BUILD_REQUEST = {
  instanceUuid: uuid,
  projectId: text(),
  instance: object(INSTANCE),
  createdAt: time,
};

export type BuildRequest = RecordOf<typeof BUILD_REQUEST>;

/** `{ [providerUuid]: { resources: { VCPU: 1 } } }` as in Placement's `allocations`. */
export const ALLOCATIONS_BY_PROVIDER = mapOf(object({ resources: mapOf(amount), generation: optional(id) }));

export type AllocationsByProvider = Readonly<
  Record<string, { readonly resources: Readonly<Record<string, number>>; readonly generation?: number }>
>;

/** Why a destination rejected a move, and how the move ends if no other host accepts it (spec 6.3 row 4). */
export const DESTINATION_FAILURE = {
  /** The rejecting host and its node. */
  host: name,
  node: name,
  /** The instance's fault. */
  message: text(LONG),
  /** For administrators. */
  traceback: nullable(text(LONGEST)),
  /** Whether the instance was not touched and retains its vm_state; otherwise it ends in error. */
  rollback: flag,
  /**
   * The destination's event. It ends once it is known whether another host takes over the move. Null if there is none.
   */
  eventId: nullable(id),
};

export type DestinationFailure = RecordOf<typeof DESTINATION_FAILURE>;

/** A destination chosen by the scheduler. The first of a list is already claimed in Placement. */
export const SELECTION = {
  host: name,
  node: name,
  computeNodeUuid: uuid,
  /** The body of the claim, amounts by provider. A retry on this host claims it. */
  allocationRequest: ALLOCATIONS_BY_PROVIDER as unknown as Field<AllocationsByProvider>,
  allocationRequestVersion: text(),
  /** Providers by the suffix of the request group that they satisfy. Absent if the server has no such group. */
  mappings: optional(mapOf(listOf(uuid))),
};

/** `RecordOf` has no optional fields. */
export type Selection = Omit<RecordOf<typeof SELECTION>, "mappings"> & {
  readonly mappings?: RecordOf<typeof SELECTION>["mappings"];
};

/** Sent with a build or resize, for a reschedule (spec 6.1). */
export const RETRY_INFO = {
  /** Starts at 1. Exceeding `[scheduler] max_attempts` is MaxRetriesExceeded. */
  numAttempts: amount,
  hosts: listOf(listOf(name)) as unknown as Field<readonly (readonly [host: string, node: string])[]>,
};

export type RetryInfo = RecordOf<typeof RETRY_INFO>;

export const SERVER_GROUP_POLICIES = ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"] as const;

export type ServerGroupPolicy = (typeof SERVER_GROUP_POLICIES)[number];

/** A row of `server_groups` (spec 6.9). */
export const SERVER_GROUP = {
  id,
  uuid,
  projectId: text(),
  userId: text(),
  name,
  policy: oneOf(SERVER_GROUP_POLICIES),
  /** Max members per host for anti-affinity; 0: the request had no number, which means one. */
  maxServerPerHost: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
};

export type ServerGroup = RecordOf<typeof SERVER_GROUP>;

/** Returns the max number of members of an anti-affinity group per host. */
export function mostMembersOnHost({ maxServerPerHost }: Pick<ServerGroup, "maxServerPerHost">): number {
  return Math.max(1, maxServerPerHost);
}
