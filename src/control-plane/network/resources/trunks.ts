import type { Json } from "../../http/json.js";
import { boolean, ID, json, OWNER, STANDARD, string, TAGS, textOrNull, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const TRUNKS = defineResource({
  collection: "trunks",
  singular: "trunk",
  path: "/v2.0/trunks",
  extension: "trunk",
  table: "network_trunks",
  attributes: {
    ...ID,
    admin_state_up: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    port_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    status: { type: textOrNull, sort: true },
    sub_ports: {
      type: json<Json>({ validator: "type:subports", listConverter: "convert_kvp_list_to_dict" }),
      post: true,
      default: [],
      policy: true,
    },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "TrunkNotFound" },
  tagged: true,
  quota: { name: "trunk", default: -1 },
  policyName: "subports",
  actions: { add_subports: "PUT", remove_subports: "PUT", get_subports: "GET" },
});
