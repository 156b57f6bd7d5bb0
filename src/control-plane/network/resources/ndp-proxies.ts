import { checkedText, ID, OWNER, STANDARD, string, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const NDP_PROXIES = defineResource({
  collection: "ndp_proxies",
  singular: "ndp_proxy",
  path: "/v2.0/ndp-proxies",
  extension: "l3-ndp-proxy",
  table: "network_ndp_proxies",
  attributes: {
    ...ID,
    ip_address: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      default: null,
      sort: true,
    },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    port_id: { type: uuid, post: true, sort: true },
    router_id: { type: uuid, post: true, sort: true },
    ...OWNER,
    ...STANDARD,
  },
  notFound: { type: "NdpProxyNotFound" }, // not in errors.json: check
});
