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

/** A row of `migrations` (spec 1.5). Its uuid is a Placement consumer in the `split` strategy. */
export interface Migration {
  readonly id: number;
  readonly uuid: string;
  readonly instanceUuid: string;
  readonly migrationType: MigrationType;
  readonly status: MigrationStatus;
  readonly sourceCompute: string | null;
  readonly sourceNode: string | null;
  readonly destCompute: string | null;
  readonly destNode: string | null;
  readonly destComputeId: number | null;
  /** IP address of the destination. */
  readonly destHost: string | null;
  readonly oldInstanceTypeId: number | null;
  readonly newInstanceTypeId: number | null;
  readonly hidden: boolean;
  readonly crossCellMove: boolean;
  readonly userId: string | null;
  readonly projectId: string | null;
  readonly memoryTotal: number | null;
  readonly memoryProcessed: number | null;
  readonly memoryRemaining: number | null;
  readonly diskTotal: number | null;
  readonly diskProcessed: number | null;
  readonly diskRemaining: number | null;
  readonly deleted: number;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export type MigrationChanges = Partial<
  Omit<Migration, "id" | "uuid" | "instanceUuid" | "deleted" | "createdAt" | "updatedAt">
>;

/** Written by a move claim; `apply` copies new_* onto the instance, `revert` old_*, `drop` removes it. */
export interface MigrationContext {
  readonly instanceUuid: string;
  readonly migrationId: number;
  readonly oldNumaTopology: string | null;
  readonly newNumaTopology: string | null;
  readonly oldPciDevices: readonly string[];
  readonly newPciDevices: readonly string[];
  readonly oldResources: readonly AssignedResource[];
  readonly newResources: readonly AssignedResource[];
}

/** A discrete resource handed to a guest. */
export interface AssignedResource {
  readonly providerUuid: string;
  readonly resourceClass: string;
  readonly identifier: string;
}
