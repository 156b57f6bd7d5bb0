import { type HttpError, notFound } from "../http/http-error.js";
import { FLAT_NETWORK } from "../network/flat-network.js";
import { type Call, type ComputeRoute, requireMember, requireReader } from "./api/call.js";
import { gone } from "./api/gone.js";
import { LAST_PROXY } from "./security-groups.js";

/** Attributes of nova-network, and those that only administrators see. They are always null. */
const FORMER = ["cidr", "netmask", "gateway", "broadcast", "dns1", "dns2", "cidr_v6", "gateway_v6", "netmask_v6"];
const FORMER_OF_ADMINS = [
  ...["created_at", "updated_at", "deleted_at", "deleted", "injected", "bridge", "vlan", "vpn_public_address"],
  ...["vpn_public_port", "vpn_private_address", "dhcp_start", "project_id", "host", "bridge_interface", "multi_host"],
  ...["priority", "rxtx_base", "mtu", "dhcp_server", "enable_dhcp", "share_address"],
];

/** Nova's proxies of networks and floating IPs. This cloud has no floating IPs. */
export const NETWORK_ROUTES: readonly ComputeRoute[] = [
  ...proxy("os-networks", ({ isAdmin }) => {
    const former = isAdmin ? [...FORMER, ...FORMER_OF_ADMINS] : FORMER;
    const nothing = Object.fromEntries(former.map((name) => [name, null]));
    return { id: FLAT_NETWORK.id, label: FLAT_NETWORK.name, ...nothing };
  }),
  ...proxy("os-tenant-networks", () => ({ id: FLAT_NETWORK.id, cidr: "None", label: FLAT_NETWORK.name })),
  {
    method: "GET",
    path: "/os-floating-ips",
    until: LAST_PROXY,
    handle: (_deps, call) => {
      requireReader(call, "os_compute_api:os-floating-ips:list");
      return { body: { floating_ips: [] } };
    },
  },
  {
    method: "GET",
    path: "/os-floating-ips/:id",
    until: LAST_PROXY,
    handle: (_deps, call) => {
      requireReader(call, "os_compute_api:os-floating-ips:show");
      throw noSuchFloatingIp(call);
    },
  },
  {
    method: "POST",
    path: "/os-floating-ips",
    until: LAST_PROXY,
    handle: (_deps, call) => {
      requireMember(call, "os_compute_api:os-floating-ips:create");
      throw notFound("Floating IP pool not found: this cloud has one flat network and no floating IPs.");
    },
  },
  {
    method: "DELETE",
    path: "/os-floating-ips/:id",
    until: LAST_PROXY,
    handle: (_deps, call) => {
      requireMember(call, "os_compute_api:os-floating-ips:delete");
      throw noSuchFloatingIp(call);
    },
  },
  {
    method: "GET",
    path: "/os-floating-ip-pools",
    until: LAST_PROXY,
    handle: (_deps, call) => {
      requireReader(call, "os_compute_api:os-floating-ip-pools");
      return { body: { floating_ip_pools: [] } };
    },
  },
];

function proxy(
  name: "os-networks" | "os-tenant-networks",
  view: (call: Call) => Readonly<Record<string, string | null>>,
) {
  const routes: ComputeRoute[] = [
    {
      method: "GET",
      path: `/${name}`,
      until: LAST_PROXY,
      handle: (_deps, call) => {
        requireReader(call, `os_compute_api:${name}:list`);
        return { body: { networks: [view(call)] } };
      },
    },
    {
      method: "GET",
      path: `/${name}/:id`,
      until: LAST_PROXY,
      handle: (_deps, call) => {
        requireReader(call, `os_compute_api:${name}:show`);
        if (call.param("id").toLowerCase() !== FLAT_NETWORK.id) {
          throw notFound("Network not found");
        }
        return { body: { network: view(call) } };
      },
    },
    { method: "POST", path: `/${name}`, handle: noLonger },
    { method: "DELETE", path: `/${name}/:id`, handle: noLonger },
  ];
  return routes;
}

function noSuchFloatingIp(call: Call): HttpError {
  return notFound(`Floating IP not found for ID ${call.param("id")}`);
}

function noLonger(): never {
  throw gone();
}
