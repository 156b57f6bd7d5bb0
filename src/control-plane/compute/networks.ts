import { notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { type Call, type ComputeRoute, requireReader } from "./api/call.js";
import { gone } from "./api/gone.js";
import { findNetworkRecord, LAST_PROXY, type NetworkRecord, requestNetwork } from "./network-proxy.js";

/** Attributes of nova-network, and those that only administrators see. They are always null. */
const FORMER = ["cidr", "netmask", "gateway", "broadcast", "dns1", "dns2", "cidr_v6", "gateway_v6", "netmask_v6"];
const FORMER_OF_ADMINS = [
  ...["created_at", "updated_at", "deleted_at", "deleted", "injected", "bridge", "vlan", "vpn_public_address"],
  ...["vpn_public_port", "vpn_private_address", "dhcp_start", "project_id", "host", "bridge_interface", "multi_host"],
  ...["priority", "rxtx_base", "mtu", "dhcp_server", "enable_dhcp", "share_address"],
];

/** Nova's proxies of networks. */
export const NETWORK_ROUTES: readonly ComputeRoute[] = [
  ...proxy("os-networks", ({ isAdmin }, { id, name }) => {
    const former = isAdmin ? [...FORMER, ...FORMER_OF_ADMINS] : FORMER;
    const nothing = Object.fromEntries(former.map((attribute) => [attribute, null]));
    return { id, label: String(name), ...nothing };
  }),
  ...proxy("os-tenant-networks", (_call, { id, name }) => ({ id, cidr: "None", label: String(name) })),
];

function proxy(
  name: "os-networks" | "os-tenant-networks",
  view: (call: Call, network: NetworkRecord) => Json,
): readonly ComputeRoute[] {
  return routes<ComputeRoute>(
    {
      "GET /": {
        until: LAST_PROXY,
        handle: async (call) => {
          requireReader(call, `os_compute_api:${name}:list`);
          const networks = await requestNetwork<readonly NetworkRecord[]>(call, { method: "GET", path: "/networks" });
          return { body: { networks: networks.map((network) => view(call, network)) } };
        },
      },
      "GET /:id": {
        until: LAST_PROXY,
        handle: async (call) => {
          requireReader(call, `os_compute_api:${name}:show`);
          const network = await findNetworkRecord(call, `/networks/${encodeURIComponent(call.param("id"))}`);
          if (network === undefined) {
            throw notFound("Network not found");
          }
          return { body: { network: view(call, network) } };
        },
      },
      "POST /": noLonger,
      "DELETE /:id": noLonger,
    },
    { prefix: `/${name}` },
  );
}

function noLonger(): never {
  throw gone();
}
