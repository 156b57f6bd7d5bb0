import { checkedText, ID, OWNER, STANDARD, string, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** IPv6 addresses of internal ports for which a router responds on its external network. */
export const NDP_PROXIES = defineResource({
  collection: "ndp_proxies",
  singular: "ndp_proxy",
  path: "/v2.0/ndp-proxies",
  extension: "l3-ndp-proxy",
  table: "network_ndp_proxies",
  references: {
    port_id: { table: "network_ports", onDelete: "cascade" },
    router_id: { table: "network_routers", onDelete: "cascade" },
  },
  unique: [["router_id", "ip_address"]],
  indexes: [["port_id"], ["project_id"]],
  attributes: {
    id: { ...ID.id, filter: false },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    project_id: { ...OWNER.project_id, filter: false },
    router_id: { type: uuid, post: true, sort: true },
    port_id: { type: uuid, post: true, sort: true },
    ip_address: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      default: null,
      sort: true,
    },
    ...STANDARD,
  },
  notFound: { type: "NDPProxyNotFound", message: (id) => `Ndp proxy ${id} could not be found.` },
});
