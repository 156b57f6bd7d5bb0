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

/** Spec 1.5; everything else is in progress, `finished` too. */
export const FINAL_MIGRATION_STATUSES: readonly MigrationStatus[] = [
  "confirmed",
  "reverted",
  "error",
  "failed",
  "completed",
  "cancelled",
  "done",
];

const amountOrNull = withDefault(nullable(id), null);
const nameOrNull = withDefault(nullable(name), null);
const textOrNull = withDefault(nullable(text()), null);
const idOrNull = withDefault(nullable(id), null);
const no = withDefault(flag, false);

/** A row of `migrations` (spec 1.5). Its uuid is a Placement consumer in the `split` strategy. */
export const MIGRATION = {
  id,
  uuid,
  /** The server that is moved. */
  instanceUuid: uuid,
  migrationType: oneOf(MIGRATION_TYPES),
  status: oneOf(MIGRATION_STATUSES),
  /** Host that it leaves, and its node. */
  sourceCompute: nameOrNull,
  sourceNode: nameOrNull,
  /** Host that it goes to, and its node; null: not chosen yet. */
  destCompute: nameOrNull,
  destNode: nameOrNull,
  destComputeId: idOrNull,
  /** IP address of the destination. */
  destHost: textOrNull,
  /** Flavor that it had, and the one that it gets: the same but in a resize. */
  oldInstanceTypeId: idOrNull,
  newInstanceTypeId: idOrNull,
  hidden: no,
  crossCellMove: no,
  userId: textOrNull,
  projectId: textOrNull,
  /** Bytes of a live migration, as its driver told last; so the next five. */
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

/** A discrete resource handed to a guest. */
const ASSIGNED_RESOURCE = { providerUuid: uuid, resourceClass: text(), identifier: text() };

export type AssignedResource = RecordOf<typeof ASSIGNED_RESOURCE>;

const assignedResources = listOf(object(ASSIGNED_RESOURCE));

/** Written by a move claim; `apply` copies new_* onto the instance, `revert` old_*, `drop` removes it. */
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
