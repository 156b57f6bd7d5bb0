import type { Sql } from "../database/sql.js";
import { createResourceTables } from "../resources/resource-table.js";
import type { BlockStorageResource } from "./engine/block-storage-resource.js";
import { DEFAULT_TYPES, QUOTAS, SERVICES } from "./resources/administration.js";
import { ATTACHMENTS } from "./resources/attachments.js";
import { BACKUPS } from "./resources/backups.js";
import { GROUP_SNAPSHOTS, GROUP_TYPES, GROUPS } from "./resources/groups.js";
import { MESSAGES } from "./resources/messages.js";
import { QOS_SPECS } from "./resources/qos-specs.js";
import { SNAPSHOTS } from "./resources/snapshots.js";
import { TRANSFERS } from "./resources/transfers.js";
import { TYPES } from "./resources/types.js";
import { VOLUMES } from "./resources/volumes.js";

/**
 * All resources with a table. One that refers to another follows it.
 * @internal for tests
 */
export const BLOCK_STORAGE_RESOURCES = [
  SERVICES,
  QUOTAS,
  QOS_SPECS,
  TYPES,
  DEFAULT_TYPES,
  GROUP_TYPES,
  GROUPS,
  GROUP_SNAPSHOTS,
  VOLUMES,
  SNAPSHOTS,
  ATTACHMENTS,
  BACKUPS,
  TRANSFERS,
  MESSAGES,
] as unknown as readonly BlockStorageResource[];

/** Ids of the records that the cluster file declares. */
const MORE_TABLES = ["CREATE TABLE IF NOT EXISTS block_storage_from_file (id TEXT PRIMARY KEY) STRICT"];

/** Creates the tables of the Block Storage service, or adds what is missing. */
export function createBlockStorageTables(sql: Sql): void {
  createResourceTables(sql, "block-storage", BLOCK_STORAGE_RESOURCES, MORE_TABLES);
}
