import {
  booleanOrNull,
  checkedText,
  ID,
  json,
  OWNER,
  string,
  stringOrNull,
  text,
  uuid,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkRecord } from "../engine/network-resource.js";

/** The project of a request. The records belong to none. */
const project_id = { ...OWNER.project_id, stored: false, filter: false, sort: false, visible: false } as const;

/** Kinds of routers, and of other services, that users choose from. */
export const FLAVORS = defineResource({
  collection: "flavors",
  singular: "flavor",
  path: "/v2.0/flavors",
  extension: "flavors",
  table: "network_flavors",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    description: { type: stringOrNull(1024), post: true, put: true, default: "", filter: true, sort: true },
    service_type: {
      type: checkedText({ validator: "type:service_plugin_type" }),
      post: true,
      filter: true,
      sort: true,
    },
    project_id,
    /** Requests may contain them without effect: profiles are associated by requests of their own. */
    service_profiles: {
      type: json<readonly string[]>({ validator: "type:uuid_list" }),
      stored: false,
      post: true,
      put: true,
      default: [],
    },
    enabled: { type: booleanOrNull, post: true, put: true, default: true, filter: true, sort: true },
  },
  notFound: { type: "FlavorNotFound" },
});

/** Drivers with their parameters, which flavors refer to. */
export const SERVICE_PROFILES = defineResource({
  collection: "service_profiles",
  singular: "service_profile",
  path: "/v2.0/service_profiles",
  extension: "flavors",
  table: "network_service_profiles",
  attributes: {
    ...ID,
    project_id,
    description: { type: stringOrNull(1024), post: true, put: true, default: "", filter: true, sort: true },
    driver: { type: string(1024), post: true, put: true, default: "", filter: true, sort: true },
    enabled: { type: booleanOrNull, post: true, put: true, default: true, filter: true, sort: true },
    metainfo: { type: checkedText({}), post: true, put: true, default: "", sort: true },
  },
  notFound: { type: "ServiceProfileNotFound", message: (id) => `Service Profile ${id} could not be found.` },
});

/** The profiles of flavors. A request names one by its id; responses contain the flavor's, as Neutron's do. */
export const FLAVOR_SERVICE_PROFILES = defineResource({
  collection: "service_profiles",
  singular: "service_profile",
  path: "/v2.0/flavors/:flavor_id/service_profiles",
  extension: "flavors",
  table: "network_flavor_service_profiles",
  attributes: {
    id: { type: uuid, post: true },
    project_id,
    flavor_id: { type: uuid, visible: false },
    service_profile_id: { type: uuid, visible: false },
  },
  notFound: {
    type: "FlavorServiceProfileBindingNotFound",
    message: (id, flavorId) => `Service Profile ${id} is not associated with flavor ${flavorId}.`,
  },
  operations: ["show", "create", "delete"],
  parent: { collection: "flavors", attribute: "flavor_id", isRequired: false },
  key: "service_profile_id",
  policyName: "flavor_service_profile",
  references: {
    flavor_id: { table: FLAVORS.table, onDelete: "cascade" },
    service_profile_id: { table: SERVICE_PROFILES.table },
  },
  unique: [["flavor_id", "service_profile_id"]],
  indexes: [["service_profile_id"]],
});

/** The provider of a flavor's first profile. */
export const NEXT_PROVIDERS = defineResource({
  collection: "next_providers",
  singular: "next_provider",
  path: "/v2.0/flavors/:flavor_id/next_providers",
  extension: "flavors",
  table: "network_next_providers",
  view: `SELECT flavor_id, flavor_id AS id, min(binding.rowid) AS rowid, driver, metainfo, profile.enabled AS enabled
    FROM ${FLAVOR_SERVICE_PROFILES.table} AS binding
    JOIN ${SERVICE_PROFILES.table} AS profile ON profile.id = binding.service_profile_id GROUP BY flavor_id`,
  attributes: {
    provider: { type: text, stored: false },
    driver: { type: text },
    metainfo: { type: text },
    project_id,
    id: { type: uuid, visible: false },
    flavor_id: { type: uuid, visible: false },
    enabled: { type: booleanOrNull, visible: false },
  },
  notFound: { type: "FlavorServiceProfileBindingNotFound" },
  operations: ["list"],
  parent: { collection: "flavors", attribute: "flavor_id" },
  policyName: "flavor",
});

export type ServiceProfile = NetworkRecord<typeof SERVICE_PROFILES>;
