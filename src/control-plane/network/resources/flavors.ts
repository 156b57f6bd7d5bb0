import {
  booleanOrNull,
  checkedText,
  ID,
  json,
  OWNER,
  string,
  stringOrNull,
  textOrNull,
  uuid,
} from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
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
    enabled: { type: booleanOrNull, post: true, put: true, default: true, filter: true, sort: true },
    service_profiles: {
      type: json<readonly string[]>({ validator: "type:uuid_list" }),
      post: true,
      put: true,
      default: [],
    },
    ...OWNER,
  },
  notFound: { type: "FlavorNotFound" },
});

/** TODO describe. */
export const SERVICE_PROFILES = defineResource({
  collection: "service_profiles",
  singular: "service_profile",
  path: "/v2.0/flavors/:flavor_id/service_profiles",
  extension: "flavors",
  table: "network_service_profiles",
  attributes: {
    ...ID,
    flavor_id: { type: uuid, visible: false },
    ...OWNER,
  },
  notFound: { type: "ServiceProfileNotFound" },
  parent: { collection: "flavors", attribute: "flavor_id" },
});

/** TODO describe. */
export const NEXT_PROVIDERS = defineResource({
  collection: "next_providers",
  singular: "next_provider",
  path: "/v2.0/flavors/:flavor_id/next_providers",
  extension: "flavors",
  table: "network_next_providers",
  attributes: {
    flavor_id: { type: uuid, visible: false },
    driver: { type: textOrNull },
    metainfo: { type: textOrNull },
    provider: { type: textOrNull },
    ...OWNER,
  },
  notFound: { type: "NextProviderNotFound" }, // not in errors.json: check
  parent: { collection: "flavors", attribute: "flavor_id" },
});
