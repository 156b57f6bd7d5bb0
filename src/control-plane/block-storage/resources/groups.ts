import { type Condition, EVERY } from "../../resources/condition.js";
import {
  type BlockStorageRecord,
  BOOLEAN,
  defineResource,
  MEMBERS,
  OWNED,
  STRINGS,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
} from "../engine/block-storage-resource.js";
import { equals, isBoolean } from "../engine/filters.js";
import { booleanFromText } from "../engine/schema-parts.js";

/** `None` selects all. */
function isPublicOrAny(value: string, isLike: boolean): Condition {
  return value.toLowerCase() === "none" ? EVERY : isBoolean("is_public")(value, isLike);
}

/** Types of groups: `GET /group_types`. */
export const GROUP_TYPES = defineResource({
  collection: "group_types",
  singular: "group_type",
  title: "Group type",
  from: 11,
  table: "block_storage_group_types",
  attributes: {
    id: TEXT,
    name: TEXT,
    description: TEXT_OR_NULL,
    is_public: BOOLEAN,
    group_specs: MEMBERS,
    created_at: TIME,
    updated_at: TIME_OR_NULL,
  },
  unique: [["name"]],
  response: {
    id: {},
    name: {},
    description: {},
    is_public: {},
    group_specs: { policy: "group:access_group_types_specs" },
  },
  list: { linksKey: "group_type_links", filters: { is_public: isPublicOrAny }, sortKeys: ["id", "name", "created_at"] },
});

export type GroupType = BlockStorageRecord<typeof GROUP_TYPES>;

/** Groups of volumes: `GET /groups`. */
export const GROUPS = defineResource({
  collection: "groups",
  singular: "group",
  title: "Group",
  from: 13,
  table: "block_storage_groups",
  attributes: {
    ...OWNED,
    name: TEXT_OR_NULL,
    description: TEXT_OR_NULL,
    status: TEXT,
    availability_zone: TEXT_OR_NULL,
    host: TEXT_OR_NULL,
    group_type_id: TEXT,
    volume_type_ids: STRINGS,
    group_snapshot_id: TEXT_OR_NULL,
    source_group_id: TEXT_OR_NULL,
  },
  indexes: [["project_id"], ["group_type_id"]],
  response: {
    id: { level: "summary" },
    name: { level: "summary" },
    status: {},
    availability_zone: {},
    created_at: {},
    description: {},
    group_type: { value: ({ group_type_id: id }) => id },
    volume_types: { value: ({ volume_type_ids: ids }) => ids },
    group_snapshot_id: { from: 14 },
    source_group_id: { from: 14 },
    volumes: {
      from: 25,
      value: ({ id }, { query, context }) =>
        booleanFromText(query.get("list_volume"))
          ? context.sql.strings("SELECT id FROM block_storage_volumes WHERE group_id = ? ORDER BY rowid", id)
          : undefined,
    },
    replication_status: { from: 38, value: () => "disabled" },
    project_id: { from: 58, policy: "group:group_project_attribute" },
  },
  list: {
    isOwned: true,
    linksKey: "group_links",
    filterName: "group",
    userFilters: ["name"],
    filters: {
      name: equals("name"),
      status: equals("status"),
      id: equals("id"),
      group_type_id: equals("group_type_id"),
    },
    sortKeys: ["id", "name", "status", "created_at", "group_type_id"],
  },
});

export type Group = BlockStorageRecord<typeof GROUPS>;

/** Snapshots of all volumes of a group: `GET /group_snapshots`. */
export const GROUP_SNAPSHOTS = defineResource({
  collection: "group_snapshots",
  singular: "group_snapshot",
  title: "GroupSnapshot",
  from: 14,
  table: "block_storage_group_snapshots",
  attributes: {
    ...OWNED,
    group_id: TEXT,
    group_type_id: TEXT,
    name: TEXT_OR_NULL,
    description: TEXT_OR_NULL,
    status: TEXT,
  },
  indexes: [["project_id"], ["group_id"]],
  response: {
    id: { level: "summary" },
    name: { level: "summary" },
    group_id: {},
    group_type_id: {},
    status: {},
    created_at: {},
    description: {},
    project_id: { from: 58, policy: "group:group_snapshot_project_attribute" },
  },
  list: {
    isOwned: true,
    pagesFrom: 29,
    linksKey: "group_snapshot_links",
    filterName: "group_snapshot",
    userFilters: ["name", "status", "group_id"],
    filters: { name: equals("name"), status: equals("status"), group_id: equals("group_id"), id: equals("id") },
    sortKeys: ["id", "name", "status", "created_at", "group_id"],
  },
});

export type GroupSnapshot = BlockStorageRecord<typeof GROUP_SNAPSHOTS>;
