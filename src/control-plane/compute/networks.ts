import { type HttpError, notFound } from "../http/http-error.js";
import { routes } from "../http/router.js";
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
  ...routes<ComputeRoute>(
    {
      "GET /os-floating-ips": (call) => {
        requireReader(call, "os_compute_api:os-floating-ips:list");
        return { body: { floating_ips: [] } };
      },
      "GET /os-floating-ips/:id": (call) => {
        requireReader(call, "os_compute_api:os-floating-ips:show");
        throw noSuchFloatingIp(call);
      },
      "POST /os-floating-ips": (call) => {
        requireMember(call, "os_compute_api:os-floating-ips:create");
        throw notFound("Floating IP pool not found: this cloud has one flat network and no floating IPs.");
      },
      "DELETE /os-floating-ips/:id": (call) => {
        requireMember(call, "os_compute_api:os-floating-ips:delete");
        throw noSuchFloatingIp(call);
      },
      "GET /os-floating-ip-pools": (call) => {
        requireReader(call, "os_compute_api:os-floating-ip-pools");
        return { body: { floating_ip_pools: [] } };
      },
    },
    { until: LAST_PROXY },
  ),
];

function proxy(
  name: "os-networks" | "os-tenant-networks",
  view: (call: Call) => Readonly<Record<string, string | null>>,
) {
  return routes<ComputeRoute>(
    {
      "GET /": {
        until: LAST_PROXY,
        handle: (call) => {
          requireReader(call, `os_compute_api:${name}:list`);
          return { body: { networks: [view(call)] } };
        },
      },
      "GET /:id": {
        until: LAST_PROXY,
        handle: (call) => {
          requireReader(call, `os_compute_api:${name}:show`);
          if (call.param("id").toLowerCase() !== FLAT_NETWORK.id) {
            throw notFound("Network not found");
          }
          return { body: { network: view(call) } };
        },
      },
      "POST /": noLonger,
      "DELETE /:id": noLonger,
    },
    { prefix: `/${name}` },
  );
}

function noSuchFloatingIp(call: Call): HttpError {
  return notFound(`Floating IP not found for ID ${call.param("id")}`);
}

function noLonger(): never {
  throw gone();
}
