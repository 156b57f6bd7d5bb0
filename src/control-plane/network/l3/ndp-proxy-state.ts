import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { NDP_PROXIES } from "../resources/ndp-proxies.js";
import { type GatewayInfo, ROUTERS, type RouterInput, type RouterRecord } from "../resources/routers.js";
import { SUBNETPOOLS } from "../resources/subnet-pools.js";
import { SUBNETS } from "../resources/subnets.js";
import { isIpv6, portsOfRouters, ROUTER_GATEWAY, subnetsWithIds } from "./router-ports.js";

/** Whether a network has an IPv6 subnet and an IPv6 address scope, without which no router proxies NDP to it. */
function supportsNdpProxies(context: NetworkContext, networkId: string): boolean {
  return (
    ipv6ScopeOf(context, networkId) !== null &&
    context.table(SUBNETS).has(where`network_id = ${networkId} AND ip_version = 6`)
  );
}

/** Returns the IPv6 address scope of a network: that of its subnet pool. */
export function ipv6ScopeOf({ sql }: NetworkContext, networkId: string): string | null {
  const [scope] =
    sql.get(
      `SELECT pools.address_scope_id FROM ${SUBNETS.table} AS subnets
        JOIN ${SUBNETPOOLS.table} AS pools ON pools.id = subnets.subnetpool_id
        WHERE subnets.network_id = ? AND subnets.ip_version = 6 AND pools.address_scope_id IS NOT NULL LIMIT 1`,
      networkId,
    ) ?? [];
  return typeof scope === "string" ? scope : null;
}

/** Decides `enable_ndp_proxy` of a new router. @throws {HttpError} 409 if its gateway does not support it */
export function initialNdpProxyState(
  context: NetworkContext,
  routerId: string,
  { enable_ndp_proxy: requested, external_gateway_info: info }: RouterInput,
): boolean {
  if (requested !== true) {
    return false;
  }
  if (info?.network_id === undefined) {
    throw gatewayNotValid(routerId, "The request body not contain external gateway information");
  }
  if (!supportsNdpProxies(context, info.network_id)) {
    throw gatewayNotValid(
      routerId,
      `The external network ${info.network_id} don't support IPv6 ndp proxy, the network has no IPv6 subnets or has no IPv6 address scope`,
    );
  }
  return true;
}

/**
 * Decides `enable_ndp_proxy` of a changed router. As in Neutron, any update that does not name it enables it if the
 * gateway supports it.
 * @throws {HttpError} 409 if the gateway does not support it
 */
export function updatedNdpProxyState(
  context: NetworkContext,
  routerId: string,
  requested: boolean | null | undefined,
): boolean | null {
  const isSupported = portsOfRouters(context, [routerId], [ROUTER_GATEWAY]).some(
    ({ networkId, fixedIps }) =>
      fixedIps.some(({ ip_address: address }) => isIpv6(address)) && supportsNdpProxies(context, networkId),
  );
  if (requested === true && !isSupported) {
    throw gatewayNotValid(
      routerId,
      "The router has no external gateway or the external gateway port has no IPv6 address or IPv6 address scope",
    );
  }
  return requested === undefined ? isSupported : requested;
}

/** Checks that a router which loses its gateway has no NDP proxies, and disables them. @throws {HttpError} 409 */
export function releaseNdpProxies(
  context: NetworkContext,
  { id }: RouterRecord,
  { enable_ndp_proxy: requested }: Pick<RouterInput, "enable_ndp_proxy">,
): void {
  if (context.table(NDP_PROXIES).has(where`router_id = ${id}`)) {
    throw networkError(
      409,
      "RouterGatewayInUseByNDPProxy",
      `Unable to unset external gateway of router ${id}, There are one or more ndp proxies still in use on the router.`,
    );
  }
  if (requested) {
    throw gatewayNotValid(id, "The router's external gateway will be unset");
  }
  context.table(ROUTERS).update(id, { enable_ndp_proxy: false });
}

/** Checks that the gateway of a router with NDP proxies keeps an IPv6 address. @throws {HttpError} 409 */
export function assertGatewayHasIpv6(
  context: NetworkContext,
  { id, enable_ndp_proxy: isEnabled }: RouterRecord,
  addresses: NonNullable<GatewayInfo["external_fixed_ips"]>,
): void {
  const subnets = subnetsWithIds(
    context,
    addresses.flatMap(({ subnet_id: subnet }) => subnet ?? []),
  );
  const hasIpv6 =
    addresses.some(({ ip_address: address }) => address !== undefined && isIpv6(address)) ||
    subnets.some(({ ip_version: version }) => version === 6);
  if (isEnabled && !hasIpv6) {
    throw networkError(
      409,
      "RouterIPv6GatewayInUse",
      `Can't remove the IPv6 subnet from external gateway of router ${id}, the IPv6 subnet in use by the router's ndp proxy.`,
    );
  }
}

function gatewayNotValid(routerId: string, reason: string): Error {
  return networkError(409, "RouterGatewayNotValid", `Can not enable ndp proxy on router ${routerId}, ${reason}.`);
}

/** Checks that no NDP proxy of a router needs its interface on a subnet. @throws {HttpError} 409 */
export function assertNoNdpProxyOn({ sql }: NetworkContext, routerId: string, subnetId: string): void {
  const used = sql.get(
    `SELECT 1 FROM ${NDP_PROXIES.table} AS proxies JOIN network_ip_allocations AS addresses
      ON addresses.port_id = proxies.port_id AND addresses.address = proxies.ip_address
      WHERE proxies.router_id = ? AND +addresses.subnet_id = ? LIMIT 1`,
    routerId,
    subnetId,
  );
  if (used) {
    throw networkError(
      409,
      "RouterInterfaceInUseByNDPProxy",
      `Unable to remove subnet ${subnetId} from router ${routerId}, There are one or more ndp proxies still in use on the subnet.`,
    );
  }
}
