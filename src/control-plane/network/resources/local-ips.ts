import { checkedText, ID, OWNER, oneOf, STANDARD, string, textOrNull, uuid } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const LOCAL_IPS = defineResource({
  collection: "local_ips",
  singular: "local_ip",
  path: "/v2.0/local-ips",
  extension: "local_ip",
  table: "network_local_ips",
  attributes: {
    ...ID,
    ip_mode: { type: oneOf(["translate", "passthrough"]), post: true, default: "translate", filter: true, sort: true },
    local_ip_address: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
      policy: true,
    },
    local_port_id: { type: uuid, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    network_id: { type: uuid, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    ...OWNER,
    ...STANDARD,
  },
  notFound: { type: "LocalIpNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const PORT_ASSOCIATIONS = defineResource({
  collection: "port_associations",
  singular: "port_association",
  path: "/v2.0/local_ips/:local_ip_id/port_associations",
  extension: "local_ip",
  table: "network_port_associations",
  attributes: {
    fixed_ip: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
    },
    fixed_port_id: { type: uuid, post: true, filter: true, sort: true },
    host: { type: textOrNull, filter: true, sort: true },
    local_ip_address: { type: textOrNull, filter: true, sort: true },
    local_ip_id: { type: textOrNull },
    ...OWNER,
  },
  notFound: { type: "PortAssociationNotFound" }, // not in errors.json: check
  parent: { collection: "local_ips", attribute: "local_ip_id" },
  policyName: "local_ip_port_association",
});
