import { where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import { type FixedIp, fixedIpsOf } from "../ipam/allocate-addresses.js";
import { NDP_PROXIES } from "../resources/ndp-proxies.js";
import { PORTS } from "../resources/ports.js";
import { ROUTERS } from "../resources/routers.js";
import { ipv6ScopeOf } from "./ndp-proxy-state.js";
import { gatewaysOf } from "./router-gateways.js";
import { isIpv6 } from "./router-ports.js";

export const NDP_PROXY_BEHAVIOUR: Behaviour<typeof NDP_PROXIES.attributes> = {
  prepareCreate(context, { router_id: routerId = "", port_id: portId = "", ip_address: requested }) {
    const port = findRecord(context, PORTS, portId);
    const routerPorts = context.table(PORTS).ids(where`device_id = ${routerId} AND network_id = ${port.network_id}`);
    if (routerPorts.length === 0) {
      throw unreachable(portId, routerId);
    }
    const router = findRecord(context, ROUTERS, routerId);
    const [gateway] = gatewaysOf(context, router);
    if (gateway === undefined || !router.enable_ndp_proxy) {
      throw networkError(
        409,
        "RouterNDPProxyNotEnable",
        `The enable_ndp_proxy parameter of router ${routerId} must be set as True while create ndp proxy entry on it.`,
      );
    }
    const address = chooseAddress(context, { portId, routerId, routerPorts, requested: requested ?? null });
    const external = ipv6ScopeOf(context, gateway.networkId);
    const internal = ipv6ScopeOf(context, port.network_id);
    if (external !== internal) {
      throw networkError(
        409,
        "AddressScopeConflict",
        `The IPv6 address scope ${external ?? "None"} of external network conflict with internal network's IPv6 address scope ${internal ?? "None"}.`,
      );
    }
    rejectDuplicate(context, routerId, address);
    return { ip_address: address };
  },
};

interface Choice {
  readonly portId: string;
  readonly routerId: string;
  readonly routerPorts: readonly string[];
  readonly requested: string | null;
}

/** Returns the IPv6 address of the port: the requested one, or the first on a subnet of the router. */
function chooseAddress(context: NetworkContext, { portId, routerId, routerPorts, requested }: Choice): string {
  const addresses = fixedIpsOf(context, [portId, ...routerPorts]);
  const own = (addresses.get(portId) ?? []).filter(isIpv6Address);
  if (own.length === 0) {
    throw badResource("ndp_proxy", `Requested port ${portId} must allocate one IPv6 address at least.`);
  }
  const subnets = new Set(
    routerPorts.flatMap((id) => (addresses.get(id) ?? []).filter(isIpv6Address)).map(({ subnet_id: id }) => id),
  );
  if (requested === null) {
    const reachable = own.find(({ subnet_id: id }) => subnets.has(id));
    if (reachable === undefined) {
      throw unreachable(portId, routerId);
    }
    return reachable.ip_address;
  }
  const found = own.find(({ ip_address: address }) => address === requested);
  if (found === undefined) {
    throw invalidAddress(requested, `This address not belong to the port ${portId}`);
  }
  if (!subnets.has(found.subnet_id)) {
    throw invalidAddress(requested, `This address cannot reach the router ${routerId}`);
  }
  return requested;
}

const isIpv6Address = ({ ip_address: address }: FixedIp): boolean => isIpv6(address);

function unreachable(portId: string, routerId: string): Error {
  return networkError(
    409,
    "PortUnreachableRouter",
    `The port ${portId} cannot reach the router ${routerId} by IPv6 subnet.`,
  );
}

function invalidAddress(address: string, reason: string): Error {
  return networkError(400, "InvalidAddress", `The address ${address} is invalid, reason: ${reason}.`);
}

function rejectDuplicate(context: NetworkContext, routerId: string, address: string): void {
  if (context.table(NDP_PROXIES).has(where`router_id = ${routerId} AND ip_address = ${address}`)) {
    throw networkError(
      409,
      "NeutronDbObjectDuplicateEntry",
      `Failed to create a duplicate NDPProxy: for attribute(s) ['router_id', 'ip_address'] with value(s) ${routerId}-${address}`,
    );
  }
}
