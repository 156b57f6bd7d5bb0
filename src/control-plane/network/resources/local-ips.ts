import { checkedText, ID, OWNER, oneOf, STANDARD, string, text, uuid } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

const ipAddressOrNull = checkedText<string | null>({ validator: "type:ip_address_or_none" });

/** Addresses that lead to a different port on each host. */
export const LOCAL_IPS = defineResource({
  collection: "local_ips",
  singular: "local_ip",
  path: "/v2.0/local-ips",
  extension: "local_ip",
  table: "network_local_ips",
  references: { local_port_id: { table: "network_ports" }, network_id: { table: "network_networks" } },
  indexes: [["local_port_id"], ["network_id"], ["project_id"]],
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    ...STANDARD,
    ...OWNER,
    local_port_id: { type: uuid, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    network_id: { type: uuid, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    local_ip_address: {
      type: ipAddressOrNull,
      post: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
      policy: true,
    },
    ip_mode: { type: oneOf(["translate", "passthrough"]), post: true, default: "translate", filter: true, sort: true },
  },
  notFound: { type: "LocalIPNotFound", message: (id) => `Local IP ${id} could not be found.` },
});

/** The ports to which a local IP leads. A port has at most one association with each local IP. */
export const PORT_ASSOCIATIONS = defineResource({
  collection: "port_associations",
  singular: "port_association",
  path: "/v2.0/local_ips/:local_ip_id/port_associations",
  extension: "local_ip",
  table: "network_port_associations",
  references: {
    local_ip_id: { table: "network_local_ips" },
    fixed_port_id: { table: "network_ports", onDelete: "cascade" },
  },
  unique: [["local_ip_id", "fixed_port_id"]],
  indexes: [["fixed_port_id"]],
  key: "fixed_port_id",
  attributes: {
    local_ip_id: { type: uuid },
    local_ip_address: { type: text, filter: true, sort: true },
    fixed_port_id: { type: uuid, post: true, filter: true, sort: true },
    fixed_ip: { type: ipAddressOrNull, post: true, default: null, filter: true, sort: true },
    host: { type: text, stored: false, filter: true, sort: true },
    project_id: { ...OWNER.project_id, filter: false, sort: false, visible: false },
    id: { type: uuid, visible: false },
  },
  notFound: {
    type: "LocalIPAssociationNotFound",
    message: (id, parentId) => `Local IP ${parentId} association with port ${id} could not be found.`,
  },
  operations: ["list", "show", "create", "delete"],
  parent: { collection: "local_ips", attribute: "local_ip_id" },
  policyName: "local_ip_port_association",
});
