import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import { NONE } from "../../resources/condition.js";
import {
  type BlockStorageRecord,
  defineResource,
  OBJECT_OR_NULL,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
} from "../engine/block-storage-resource.js";
import { equals } from "../engine/filters.js";

/** Attachments of volumes to servers and hosts: `GET /attachments`. */
export const ATTACHMENTS = defineResource({
  collection: "attachments",
  singular: "attachment",
  title: "Volume attachment",
  from: 27,
  table: "block_storage_attachments",
  attributes: {
    id: TEXT,
    project_id: TEXT,
    volume_id: TEXT,
    instance_uuid: TEXT_OR_NULL,
    attached_host: TEXT_OR_NULL,
    mountpoint: TEXT_OR_NULL,
    attach_status: TEXT,
    attach_mode: TEXT_OR_NULL,
    connector: OBJECT_OR_NULL,
    connection_info: OBJECT_OR_NULL,
    attached_at: TIME_OR_NULL,
    created_at: TIME,
    updated_at: TIME_OR_NULL,
  },
  references: { volume_id: { table: "block_storage_volumes", onDelete: "cascade" } },
  indexes: [["volume_id"], ["instance_uuid"], ["project_id"]],
  response: {
    id: { level: "summary" },
    status: { level: "summary", value: ({ attach_status: status }) => status },
    instance: { level: "summary", value: ({ instance_uuid: id }) => id },
    volume_id: { level: "summary" },
    attached_at: { value: ({ attached_at: time }): Json => (time === null ? "" : isoMicroseconds(time)) },
    detached_at: { value: () => "" },
    attach_mode: {},
    connection_info: {},
  },
  list: {
    isOwned: true,
    linksKey: null,
    filterName: "attachment",
    userFilters: ["volume_id", "status", "instance_id", "attach_status"],
    filters: {
      volume_id: equals("volume_id"),
      instance_id: equals("instance_uuid"),
      // Cinder permits this filter, but no attachment has the attribute.
      status: () => NONE,
      attach_status: equals("attach_status"),
    },
    sortKeys: ["id", "attach_status", "created_at", "updated_at", "volume_id"],
  },
});

export type Attachment = BlockStorageRecord<typeof ATTACHMENTS>;
