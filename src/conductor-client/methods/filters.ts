import type { Static } from "typebox";
import { flag, listOf, name, object, optional, time, uuid } from "../../records/field.js";
import { INSTANCE, MIGRATION } from "../../records/index.js";

export const instanceFilters = object({
  uuids: optional(listOf(uuid)),
  host: optional(name),
  node: optional(name),
  launchedOn: optional(name),
  deleted: optional(flag),
  /** With `deleted: true`: false leaves out rows in vm_state soft-delete. */
  softDeleted: optional(flag),
  cleaned: optional(flag),
  vmStates: optional(listOf(INSTANCE.vmState)),
  taskStates: optional(listOf(INSTANCE.taskState)),
});

export type InstanceFilters = Readonly<Static<typeof instanceFilters>>;

export const migrationFilters = object({
  sourceCompute: optional(name),
  destCompute: optional(name),
  /** Source or destination. */
  host: optional(name),
  instanceUuid: optional(uuid),
  uuids: optional(listOf(uuid)),
  migrationTypes: optional(listOf(MIGRATION.migrationType)),
  statuses: optional(listOf(MIGRATION.status)),
  /** Rows of deleted instances too. Default false. */
  readDeleted: optional(flag),
  /** Only rows updated (else created) before this time. */
  updatedBefore: optional(time),
});

export type MigrationFilters = Readonly<Static<typeof migrationFilters>>;
