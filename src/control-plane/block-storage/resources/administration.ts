import {
  type BlockStorageRecord,
  BOOLEAN,
  defineResource,
  INTEGER,
  TEXT,
  TEXT_OR_NULL,
  TIME,
} from "../engine/block-storage-resource.js";

/** The service's own processes: `GET /os-services`. */
export const SERVICES = defineResource({
  collection: "os-services",
  singular: "service",
  title: "Service",
  table: "block_storage_services",
  attributes: {
    id: TEXT,
    binary: TEXT,
    host: TEXT,
    availability_zone: TEXT,
    disabled: BOOLEAN,
    disabled_reason: TEXT_OR_NULL,
    frozen: BOOLEAN,
    created_at: TIME,
  },
  unique: [["host", "binary"]],
  response: {},
});

export type Service = BlockStorageRecord<typeof SERVICES>;

/** Limits of a project, or of a quota class, that differ from the defaults: `GET /os-quota-sets/{project_id}`. */
export const QUOTAS = defineResource({
  collection: "os-quota-sets",
  singular: "quota_set",
  title: "Quota",
  table: "block_storage_quotas",
  attributes: {
    id: TEXT,
    /** `project` or `class`. */
    scope: TEXT,
    /** Id of the project, or name of the class. */
    owner: TEXT,
    /** `volumes`, `gigabytes_lvmdriver-1` … */
    resource: TEXT,
    /** -1: no limit. */
    hard_limit: INTEGER,
  },
  unique: [["scope", "owner", "resource"]],
  response: {},
});

/** The default volume types of projects, by the project's id: `GET /default-types`. */
export const DEFAULT_TYPES = defineResource({
  collection: "default-types",
  singular: "default_type",
  title: "Default type",
  from: 62,
  table: "block_storage_default_types",
  attributes: { id: TEXT, volume_type_id: TEXT },
  references: { volume_type_id: { table: "block_storage_types", onDelete: "cascade" } },
  response: {
    project_id: { value: ({ id }) => id },
    volume_type_id: {},
  },
});
