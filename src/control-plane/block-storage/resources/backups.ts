import {
  type BlockStorageRecord,
  BOOLEAN,
  defineResource,
  INTEGER,
  MEMBERS,
  MEMBERS_OR_NULL,
  OWNED,
  TEXT,
  TEXT_OR_NULL,
  TIME,
} from "../engine/block-storage-resource.js";
import { equals } from "../engine/filters.js";

/** Backups of volumes: `GET /backups`. */
export const BACKUPS = defineResource({
  collection: "backups",
  singular: "backup",
  title: "Backup",
  table: "block_storage_backups",
  attributes: {
    ...OWNED,
    volume_id: TEXT,
    snapshot_id: TEXT_OR_NULL,
    name: TEXT_OR_NULL,
    description: TEXT_OR_NULL,
    status: TEXT,
    /** GiB of its volume. */
    size: INTEGER,
    container: TEXT_OR_NULL,
    availability_zone: TEXT_OR_NULL,
    object_count: INTEGER,
    is_incremental: BOOLEAN,
    /** The backup on which an incremental one builds. */
    parent_id: TEXT_OR_NULL,
    fail_reason: TEXT_OR_NULL,
    metadata: MEMBERS,
    /** Metadata of its volume, which a restored volume gets; null for backups of older versions. */
    volume_metadata: MEMBERS_OR_NULL,
    data_timestamp: TIME,
  },
  indexes: [["project_id"], ["volume_id"], ["parent_id"]],
  response: {
    id: { level: "summary" },
    name: { level: "summary" },
    links: { level: "summary", value: ({ id }, call) => call.links(`backups/${id}`) },
    status: { level: "show" },
    size: { level: "show" },
    object_count: { level: "show" },
    availability_zone: { level: "show" },
    container: { level: "show" },
    created_at: { level: "show" },
    updated_at: { level: "show" },
    description: { level: "show" },
    fail_reason: { level: "show" },
    volume_id: { level: "show" },
    is_incremental: { level: "show" },
    has_dependent_backups: {
      level: "show",
      value: ({ id }, { context }) =>
        context.sql.get("SELECT 1 FROM block_storage_backups WHERE parent_id = ? LIMIT 1", id) !== undefined,
    },
    snapshot_id: { level: "show" },
    data_timestamp: { level: "show" },
    metadata: { level: "show", from: 43 },
    "os-backup-project-attr:project_id": {
      level: "show",
      from: 18,
      policy: "backup:backup_project_attribute",
      value: ({ project_id: id }) => id,
    },
    user_id: { level: "show", from: 56, policy: "backup:backup_project_attribute" },
    encryption_key_id: { level: "show", from: 64, value: () => undefined },
  },
  list: {
    isOwned: true,
    countFrom: 45,
    filterName: "backup",
    userFilters: ["name", "status", "volume_id"],
    formerFilters: ["name", "status", "volume_id"],
    filters: {
      name: equals("name"),
      display_name: equals("name"),
      id: equals("id"),
      status: equals("status"),
      volume_id: equals("volume_id"),
      snapshot_id: equals("snapshot_id"),
      parent_id: equals("parent_id"),
    },
    sortKeys: ["id", "status", "size", "name", "created_at", "updated_at", "volume_id", "container"],
  },
});

export type Backup = BlockStorageRecord<typeof BACKUPS>;
