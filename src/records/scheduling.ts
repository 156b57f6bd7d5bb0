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

/** RequestSpec-lite (spec 1.6), persisted per instance. */
export const REQUEST_SPEC = {
  instanceUuid: uuid,
  projectId: text(),
  userId: text(),
  flavor: object(FLAVOR),
  imageRef: text(),
  isBfv: flag,
  availabilityZone: nullable(text()),
  numInstances: integer(1, MAX_INTEGER),
  /** Hints that filters here look at, each a list. */
  schedulerHints: mapOf(listOf(text())),
};

export type RequestSpec = RecordOf<typeof REQUEST_SPEC>;

/** BuildRequest-lite: from POST until the conductor maps the instance. Deleting it cancels the build. */
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

/** Why a destination gave a move back, and how the move ends when no other host takes it (spec 6.3 row 4). */
export const DESTINATION_FAILURE = {
  /** The host and its node that gave it back. */
  host: name,
  node: name,
  /** The instance's fault. */
  message: text(LONG),
  /** For administrators. */
  traceback: nullable(text(LONGEST)),
  /** Nothing happened to the instance, which then keeps its vm_state; otherwise it ends in error. */
  rollback: flag,
  /** The destination's event, which ends when it is known whether another host takes the move; null: there is none. */
  eventId: nullable(id),
};

export type DestinationFailure = RecordOf<typeof DESTINATION_FAILURE>;

/** A destination that the scheduler chose and, for the first of a list, has claimed in Placement. */
export const SELECTION = {
  host: name,
  node: name,
  computeNodeUuid: uuid,
  /** The body of the claim: amounts by provider; what a retry on this host claims. */
  allocationRequest: ALLOCATIONS_BY_PROVIDER as unknown as Field<AllocationsByProvider>,
  allocationRequestVersion: text(),
};

export type Selection = RecordOf<typeof SELECTION>;

/** Carried with a build or resize for the reschedule (spec 6.1). */
export const RETRY_INFO = {
  /** Starts at 1; over `[scheduler] max_attempts` is MaxRetriesExceeded. */
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
  /** Members that anti-affinity lets a host have; 0: the request named no number, which is one. */
  maxServerPerHost: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
};

export type ServerGroup = RecordOf<typeof SERVER_GROUP>;

/** How many members of an anti-affinity group a host may have. */
export function mostMembersOnHost({ maxServerPerHost }: Pick<ServerGroup, "maxServerPerHost">): number {
  return Math.max(1, maxServerPerHost);
}
