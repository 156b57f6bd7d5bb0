import {
  type BlockStorageRecord,
  BOOLEAN,
  defineResource,
  TEXT,
  TEXT_OR_NULL,
  TIME,
} from "../engine/block-storage-resource.js";
import { equals } from "../engine/filters.js";

/** Offers of volumes to other projects: `GET /volume-transfers`. */
export const TRANSFERS = defineResource({
  collection: "transfers",
  singular: "transfer",
  title: "Transfer",
  table: "block_storage_transfers",
  attributes: {
    id: TEXT,
    /** The project that offers the volume. */
    project_id: TEXT,
    volume_id: TEXT,
    name: TEXT_OR_NULL,
    /** The secret by which another project accepts it. Only the response to its creation has it. */
    auth_key: TEXT,
    no_snapshots: BOOLEAN,
    created_at: TIME,
  },
  references: { volume_id: { table: "block_storage_volumes", onDelete: "cascade" } },
  unique: [["volume_id"]],
  indexes: [["project_id"]],
  response: {
    id: { level: "summary" },
    volume_id: { level: "summary" },
    name: { level: "summary" },
    // Both paths have the links of the former one.
    links: { level: "summary", value: ({ id }, call) => call.links(`os-volume-transfer/${id}`) },
    created_at: {},
    no_snapshots: { from: 55 },
    destination_project_id: { from: 57, value: () => null },
    source_project_id: { from: 57, value: ({ project_id: id }) => id },
    accepted: { from: 57, value: () => false },
  },
  list: {
    isOwned: true,
    pagesFrom: 59,
    formerDirection: "ASC",
    isAlwaysLimited: true,
    linksKey: null,
    isUnchecked: true,
    userFilters: ["name", "volume_id", "is_public"],
    filters: { name: equals("name"), volume_id: equals("volume_id"), id: equals("id") },
    sortKeys: ["id", "created_at", "volume_id"],
  },
});

export type Transfer = BlockStorageRecord<typeof TRANSFERS>;
