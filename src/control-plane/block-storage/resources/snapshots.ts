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
} from "../engine/block-storage-resource.js";
import { equals, hasMembers, isBoolean } from "../engine/filters.js";

/** Snapshots of volumes: `GET /snapshots`. */
export const SNAPSHOTS = defineResource({
  collection: "snapshots",
  singular: "snapshot",
  title: "Snapshot",
  table: "block_storage_snapshots",
  attributes: {
    ...OWNED,
    volume_id: TEXT,
    name: TEXT_OR_NULL,
    description: TEXT_OR_NULL,
    status: TEXT,
    progress: TEXT_OR_NULL,
    /** GiB of its volume. */
    size: INTEGER,
    volume_type_id: TEXT_OR_NULL,
    metadata: MEMBERS,
    image_metadata: MEMBERS_OR_NULL,
    encryption_key_id: TEXT_OR_NULL,
    group_snapshot_id: TEXT_OR_NULL,
    consumes_quota: BOOLEAN,
  },
  indexes: [["project_id"], ["volume_id"], ["group_snapshot_id"]],
  response: {
    id: { level: "summary" },
    created_at: { level: "summary" },
    updated_at: { level: "summary" },
    name: { level: "summary" },
    description: { level: "summary" },
    volume_id: { level: "summary" },
    status: { level: "summary" },
    size: { level: "summary" },
    metadata: { level: "summary" },
    group_snapshot_id: { from: 14 },
    user_id: { from: 41 },
    consumes_quota: { from: 65 },
    "os-extended-snapshot-attributes:project_id": {
      level: "show",
      policy: "volume_extension:extended_snapshot_attributes",
      value: ({ project_id: id }) => id,
    },
    "os-extended-snapshot-attributes:progress": {
      level: "show",
      policy: "volume_extension:extended_snapshot_attributes",
      value: ({ progress }) => progress,
    },
  },
  list: {
    isOwned: true,
    countFrom: 45,
    filterName: "snapshot",
    userFilters: ["name", "status", "volume_id", "metadata", "availability_zone", "consumes_quota"],
    formerFilters: ["status", "volume_id", "name"],
    filters: {
      name: equals("name"),
      display_name: equals("name"),
      id: equals("id"),
      status: equals("status"),
      volume_id: equals("volume_id"),
      metadata: hasMembers("metadata"),
      consumes_quota: isBoolean("consumes_quota"),
      user_id: equals("user_id"),
      group_snapshot_id: equals("group_snapshot_id"),
      availability_zone: (value) => ({
        sql: "volume_id IN (SELECT id FROM block_storage_volumes WHERE availability_zone = ?)",
        values: [value],
      }),
    },
    sortKeys: ["id", "status", "name", "created_at", "updated_at", "volume_id", "progress"],
  },
});

export type Snapshot = BlockStorageRecord<typeof SNAPSHOTS>;
