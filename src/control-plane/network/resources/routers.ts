import type { Json } from "../../http/json.js";
import {
  boolean,
  booleanOrNull,
  checkedText,
  ID,
  json,
  OWNER,
  range,
  STANDARD,
  string,
  TAGS,
  textOrNull,
  uuid,
} from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const ROUTERS = defineResource({
  collection: "routers",
  singular: "router",
  path: "/v2.0/routers",
  extension: "router",
  table: "network_routers",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    admin_state_up: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    status: { type: textOrNull, sort: true },
    external_gateway_info: {
      type: json<Json>({
        validator: "type:dict_or_nodata",
        parameter: {
          network_id: { "type:uuid": null, required: true },
          enable_snat: { "type:boolean": null, required: false, convert_to: "convert_to_boolean" },
          external_fixed_ips: { "type:fixed_ips": null, required: false },
          qos_policy_id: { "type:uuid_or_none": null, required: false },
        },
      }),
      post: true,
      put: true,
      default: null,
      policy: true,
    },
    availability_zones: { type: textOrNull },
    availability_zone_hints: {
      type: json<readonly string[]>({ validator: "type:availability_zone_hint_list" }),
      post: true,
      default: [],
    },
    routes: { type: json<Json>({ validator: "type:hostroutes", converter: "convert_none_to_empty_list" }), put: true },
    flavor_id: { type: textOrNull, post: true, default: NOT_SPECIFIED, sort: true, policy: true },
    conntrack_helpers: { type: textOrNull },
    enable_ndp_proxy: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, filter: true },
    distributed: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, policy: true },
    ha: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, policy: true },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "RouterNotFound" },
  tagged: true,
  quota: { name: "router", default: 10 },
  actions: {
    add_router_interface: "PUT",
    remove_router_interface: "PUT",
    add_extraroutes: "PUT",
    remove_extraroutes: "PUT",
  },
});

/** TODO describe. */
export const CONNTRACK_HELPERS = defineResource({
  collection: "conntrack_helpers",
  singular: "conntrack_helper",
  path: "/v2.0/routers/:router_id/conntrack_helpers",
  extension: "l3-conntrack-helper",
  table: "network_conntrack_helpers",
  attributes: {
    ...ID,
    router_id: { type: uuid, visible: false },
    helper: {
      type: checkedText({ validator: "type:string", parameter: 64, converter: "convert_to_string" }),
      post: true,
      put: true,
      filter: true,
      sort: true,
    },
    port: { type: range(1, 65535, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    protocol: { type: textOrNull, post: true, put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "ConntrackHelperNotFound" },
  parent: { collection: "routers", attribute: "router_id" },
  policyName: "router_conntrack_helper",
});
