import { badRequest } from "../../http/http-error.js";
import { EVERY, where } from "../../resources/condition.js";
import {
  type BlockStorageRecord,
  BOOLEAN,
  defineResource,
  MEMBERS,
  OBJECT_OR_NULL,
  STRINGS,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
} from "../engine/block-storage-resource.js";
import { hasMembers } from "../engine/filters.js";
import { strictBoolean } from "../engine/schema-parts.js";

/** Extra specs that users see; all others belong to the back ends. */
const USERS_EXTRA_SPECS = ["RESKEY:availability_zones", "multiattach", "replication_enabled"];

/** Volume types: `GET /types`. */
export const TYPES = defineResource({
  collection: "types",
  singular: "volume_type",
  title: "Volume type",
  table: "block_storage_types",
  attributes: {
    id: TEXT,
    name: TEXT,
    description: TEXT_OR_NULL,
    is_public: BOOLEAN,
    extra_specs: MEMBERS,
    qos_specs_id: TEXT_OR_NULL,
    /** `provider`, `control_location`, `cipher`, `key_size`, `encryption_id` and times of an encrypted type. */
    encryption: OBJECT_OR_NULL,
    /** Projects that may use a type that is not public. */
    projects: STRINGS,
    created_at: TIME,
    updated_at: TIME_OR_NULL,
  },
  unique: [["name"]],
  response: {
    id: {},
    name: {},
    is_public: {},
    description: {},
    extra_specs: {
      policy: "volume_extension:access_types_extra_specs",
      value: ({ extra_specs: specs }, { context }) =>
        context.allows("volume_extension:types_extra_specs:read_sensitive") ? specs : usersSpecs(specs),
    },
    qos_specs_id: { level: "show", policy: "volume_extension:access_types_qos_specs_id" },
  },
  list: {
    linksKey: "volume_type_links",
    filterName: "volume_type",
    userFilters: ["is_public", "extra_specs"],
    adminFilters: ["is_public"],
    filters: {
      is_public: (value) => {
        const isPublic = strictBoolean(value);
        if (isPublic === undefined && value.toLowerCase() !== "none") {
          throw badRequest(`Invalid is_public filter [${value}]`);
        }
        return isPublic === undefined ? EVERY : where`is_public = ${isPublic ? 1 : 0}`;
      },
      extra_specs: hasMembers("extra_specs"),
      name: (value) => where`name = ${value}`,
      description: (value) => where`description = ${value}`,
    },
    sortKeys: ["id", "name", "created_at", "updated_at", "is_public"],
  },
});

export type VolumeType = BlockStorageRecord<typeof TYPES>;

export function usersSpecs(specs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(specs).filter(([name]) => USERS_EXTRA_SPECS.includes(name)));
}
