import { boolean, ID, json, OWNER, STANDARD, string, TAGS, text, uuid } from "../engine/attribute-types.js";
import { defineResource, type NetworkRecord } from "../engine/network-resource.js";
import { PORTS } from "./ports.js";

/** A port of a trunk, as requests name it and responses show it. */
export type SubPort = {
  readonly port_id: string;
  /** `vlan`; in requests also `inherit`: that of the port's network. */
  readonly segmentation_type: string;
  readonly segmentation_id: number;
};

/** Ports that carry the traffic of further ones, their subports, with a VLAN for each. */
export const TRUNKS = defineResource({
  collection: "trunks",
  singular: "trunk",
  path: "/v2.0/trunks",
  extension: "trunk",
  table: "network_trunks",
  attributes: {
    ...TAGS,
    admin_state_up: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    ...OWNER,
    port_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    /** `DOWN`, or `ACTIVE` while the parent port is. */
    status: { type: text, sort: true },
    sub_ports: {
      type: json<readonly SubPort[]>({ validator: "type:subports", listConverter: "convert_kvp_list_to_dict" }),
      stored: false,
      post: true,
      default: [],
      policy: true,
    },
    ...STANDARD,
  },
  notFound: { type: "TrunkNotFound" },
  references: { port_id: { table: PORTS.table, onDelete: "cascade" } },
  unique: [["port_id"]],
  indexes: [["project_id"]],
  tagged: true,
  quota: { name: "trunk", default: -1 },
  actions: { add_subports: "PUT", remove_subports: "PUT", get_subports: "GET" },
});

export type TrunkRecord = NetworkRecord<typeof TRUNKS>;
