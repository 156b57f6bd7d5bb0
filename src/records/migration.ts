import {
  flag,
  id,
  LONG,
  listOf,
  name,
  nullable,
  object,
  oneOf,
  type RecordOf,
  text,
  time,
  uuid,
  withDefault,
  without,
} from "./field.js";

export const MIGRATION_TYPES = ["migration", "resize", "live-migration", "evacuation"] as const;
export type MigrationType = (typeof MIGRATION_TYPES)[number];

export const MIGRATION_STATUSES = [
  "accepted",
  "queued",
  "preparing",
  "running",
  "running (post-copy)",
  "pre-migrating",
  "migrating",
  "post-migrating",
  "finished",
  "confirming",
  "confirmed",
  "reverting",
  "reverted",
  "done",
  "completed",
  "cancelled",
  "failed",
  "error",
] as const;
export type MigrationStatus = (typeof MIGRATION_STATUSES)[number];

/** Final statuses (spec 1.5). Every other one is in progress, including `finished`. */
export const FINAL_MIGRATION_STATUSES: readonly MigrationStatus[] = [
  "confirmed",
  "reverted",
  "error",
  "failed",
  "completed",
  "cancelled",
  "done",
];

export const UNFINISHED_MIGRATION_STATUSES: readonly MigrationStatus[] = MIGRATION_STATUSES.filter(
  (status) => !FINAL_MIGRATION_STATUSES.includes(status),
);

const amountOrNull = withDefault(nullable(id), null);
const nameOrNull = withDefault(nullable(name), null);
const textOrNull = withDefault(nullable(text()), null);
const idOrNull = withDefault(nullable(id), null);
const no = withDefault(flag, false);

/** A row of `migrations` (spec 1.5). Its uuid is a Placement consumer in the `split` strategy. */
export const MIGRATION = {
  id,
  uuid,
  /** The server that moves. */
  instanceUuid: uuid,
  migrationType: oneOf(MIGRATION_TYPES),
  status: oneOf(MIGRATION_STATUSES),
  /** The source host and its node. */
  sourceCompute: nameOrNull,
  sourceNode: nameOrNull,
  /** The destination host and its node; null before one is chosen. */
  destCompute: nameOrNull,
  destNode: nameOrNull,
  destComputeId: idOrNull,
  /** IP address of the destination. */
  destHost: textOrNull,
  /** The flavors before and after; they differ only in a resize. */
  oldInstanceTypeId: idOrNull,
  newInstanceTypeId: idOrNull,
  hidden: no,
  crossCellMove: no,
  userId: textOrNull,
  projectId: textOrNull,
  /** Progress of a live migration in bytes, as last reported by the driver; likewise the next five fields. */
  memoryTotal: amountOrNull,
  memoryProcessed: amountOrNull,
  memoryRemaining: amountOrNull,
  diskTotal: amountOrNull,
  diskProcessed: amountOrNull,
  diskRemaining: amountOrNull,
  deleted: withDefault(id, 0),
  createdAt: time,
  updatedAt: withDefault(nullable(time), null),
};

export type Migration = RecordOf<typeof MIGRATION>;

export const MIGRATION_CHANGES = without(MIGRATION, "id", "uuid", "instanceUuid", "deleted", "createdAt", "updatedAt");

export type MigrationChanges = Partial<RecordOf<typeof MIGRATION_CHANGES>>;

/** A discrete resource assigned to a guest. */
const ASSIGNED_RESOURCE = { providerUuid: uuid, resourceClass: text(), identifier: text() };

export type AssignedResource = RecordOf<typeof ASSIGNED_RESOURCE>;

const assignedResources = listOf(object(ASSIGNED_RESOURCE));

/** Written by a move claim. `apply` copies new_* to the instance, `revert` copies old_*, `drop` removes the context. */
export const MIGRATION_CONTEXT = {
  instanceUuid: uuid,
  migrationId: id,
  oldNumaTopology: nullable(text(LONG)),
  newNumaTopology: nullable(text(LONG)),
  oldPciDevices: listOf(text()),
  newPciDevices: listOf(text()),
  oldResources: assignedResources,
  newResources: assignedResources,
};

export type MigrationContext = RecordOf<typeof MIGRATION_CONTEXT>;
