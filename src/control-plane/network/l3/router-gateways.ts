import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import { createRecord, findRecord, updateRecord } from "../engine/records.js";
import { FLOATINGIPS } from "../resources/floating-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { type GatewayInfo, ROUTERS, type RouterRecord } from "../resources/routers.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { validateRoutes } from "./extra-routes.js";
import { assertGatewayHasIpv6, releaseNdpProxies } from "./ndp-proxy-state.js";
import { deleteRouterPort, portsOfRouters, ROUTER_GATEWAY, type RouterPort, rejectOverlaps } from "./router-ports.js";

/** Attributes of the request that changes the gateway, which decide on NDP proxies. */
export interface GatewayRequest {
  readonly enable_ndp_proxy?: boolean | null;
}

export function readRouter(context: NetworkContext, id: string): RouterRecord {
  return findRecord(context.internal, ROUTERS, id);
}

/** Returns the gateways of a router; the first one is that of `external_gateway_info`. */
export function gatewaysOf(context: NetworkContext, { id, gw_port_id: first }: RouterRecord): readonly RouterPort[] {
  return firstGatewayFirst(portsOfRouters(context, [id], [ROUTER_GATEWAY]), first);
}

export function firstGatewayFirst(gateways: readonly RouterPort[], first: string | null): readonly RouterPort[] {
  return [...gateways.filter(({ id }) => id === first), ...gateways.filter(({ id }) => id !== first)];
}

/**
 * Changes the first gateway of a router as `external_gateway_info` of a request names it: connects it to a network,
 * changes its addresses, or removes it.
 * @throws {HttpError} Neutron's errors
 */
export function setGateway(
  context: NetworkContext,
  routerId: string,
  info: GatewayInfo | null,
  request: GatewayRequest = {},
): void {
  const { network_id: networkId, external_fixed_ips: addresses = [] } = info ?? {};
  context.table(ROUTERS).update(routerId, { enable_snat: info?.enable_snat ?? true });
  const router = readRouter(context, routerId);
  const current = gatewaysOf(context, router).find(({ id }) => id === router.gw_port_id);
  const subnets = validateGateway(context, router, info);
  if (networkId !== undefined && current?.networkId === networkId) {
    if (differs(current, addresses)) {
      assertGatewayHasIpv6(context, router, addresses);
      updateRecord(context.internal, PORTS, current.id, { fixed_ips: addresses });
      context.touch(ROUTERS as never, routerId);
    }
  } else {
    if (current) {
      removeFirstGateway(context, router, current, request);
    }
    if (networkId !== undefined) {
      const portId = createGateway(context, router, networkId, addresses, subnets);
      context.table(ROUTERS).update(routerId, { gw_port_id: portId });
    }
  }
  setQosPolicy(context, routerId, info);
}

/**
 * Checks the network and the addresses of a gateway, and that the routes of the router stay reachable.
 * @returns the subnets of the network
 */
export function validateGateway(
  context: NetworkContext,
  router: Pick<RouterRecord, "id" | "routes" | "gw_port_id">,
  info: GatewayInfo | null,
): readonly SubnetRecord[] {
  const { network_id: networkId, external_fixed_ips: addresses = [] } = info ?? {};
  const subnets = networkId === undefined ? [] : subnetsOfExternal(context, networkId);
  const taken = addresses.find(({ ip_address: address }) =>
    subnets.some(({ gateway_ip: gateway }) => gateway !== null && gateway === address),
  );
  if (taken) {
    throw badResource("router", `External IP ${taken.ip_address} is the same as the gateway IP.`);
  }
  if (router.routes.length > 0) {
    const ports = portsOfRouters(context, [router.id]);
    const others = ports.filter(({ id, fixedIps }) => id !== router.gw_port_id && fixedIps.length > 0);
    // Neutron takes the ports as they are if the router would be left without a subnet.
    const isLast = others.length === 0 && subnets.length === 0;
    validateRoutes(context, router.id, router.routes, isLast ? ports : others, subnets);
  }
  return subnets;
}

function subnetsOfExternal(context: NetworkContext, networkId: string): readonly SubnetRecord[] {
  const network = findRecord(context, NETWORKS, networkId);
  if (!network["router:external"]) {
    throw badResource("router", `Network ${networkId} is not an external network.`);
  }
  return context.table(SUBNETS).find(where`network_id = ${networkId}`);
}

function differs({ fixedIps }: RouterPort, requested: NonNullable<GatewayInfo["external_fixed_ips"]>): boolean {
  if (requested.length === 0) {
    return false;
  }
  return (
    !hasSameMembers(
      fixedIps.map(({ subnet_id: id }) => id),
      requested.flatMap(({ subnet_id: id }) => id ?? []),
    ) ||
    !hasSameMembers(
      fixedIps.map(({ ip_address: address }) => address),
      requested.flatMap(({ ip_address: address }) => address ?? []),
    )
  );
}

function hasSameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.every((member) => b.includes(member)) && b.every((member) => a.includes(member));
}

/** Creates the port of a gateway, which belongs to no project. @returns its id */
export function createGateway(
  context: NetworkContext,
  { id }: RouterRecord,
  networkId: string,
  addresses: NonNullable<GatewayInfo["external_fixed_ips"]>,
  subnets: readonly SubnetRecord[],
): string {
  rejectOverlaps(context, portsOfRouters(context, [id]), subnets, ROUTER_GATEWAY);
  const port = createRecord(context.internal, PORTS, {
    project_id: "",
    network_id: networkId,
    device_id: id,
    device_owner: ROUTER_GATEWAY,
    status: "ACTIVE",
    ...(addresses.length > 0 && { fixed_ips: addresses }),
  });
  context.touch(ROUTERS as never, id);
  return port.id;
}

function removeFirstGateway(
  context: NetworkContext,
  router: RouterRecord,
  { id: portId, networkId }: RouterPort,
  request: GatewayRequest,
): void {
  if (context.table(FLOATINGIPS).has(where`router_id = ${router.id}`)) {
    throw gatewayInUse(router.id, networkId);
  }
  releaseNdpProxies(context, router, request);
  context.table(ROUTERS).update(router.id, { gw_port_id: null });
  deleteRouterPort(context, portId);
  const [next] = gatewaysOf(context, router);
  context.table(ROUTERS).update(router.id, { gw_port_id: next?.id ?? null });
  context.touch(ROUTERS as never, router.id);
}

function gatewayInUse(routerId: string, networkId: string): Error {
  return networkError(
    409,
    "RouterExternalGatewayInUseByFloatingIp",
    `Gateway cannot be updated for router ${routerId}, since a gateway to external network ${networkId} is required by one or more floating IPs.`,
  );
}

/** A router without a gateway has no policy. */
function setQosPolicy(context: NetworkContext, routerId: string, info: GatewayInfo | null): void {
  const { gw_port_id: gateway } = readRouter(context, routerId);
  const policy = gateway === null ? null : info?.qos_policy_id;
  if (policy === undefined) {
    return;
  }
  if (policy !== null) {
    findRecord(context, QOS_POLICIES, policy);
  }
  context.table(ROUTERS).update(routerId, { gateway_qos_policy_id: policy });
}

/** Removes all gateways of a router, whatever its routes are. */
export function removeGateways(context: NetworkContext, routerId: string): void {
  const router = readRouter(context, routerId);
  for (const port of [...gatewaysOf(context, router)].reverse()) {
    if (port.id === router.gw_port_id) {
      removeFirstGateway(context, router, port, {});
    } else {
      removeFurtherGateway(context, routerId, port);
    }
  }
  context.table(ROUTERS).update(routerId, { enable_snat: true });
  setQosPolicy(context, routerId, null);
}

/** Removes a gateway other than the first, unless it is the last one to a network that floating IPs use. */
export function removeFurtherGateway(context: NetworkContext, routerId: string, port: RouterPort): void {
  const { networkId } = port;
  const isUsed = context.table(FLOATINGIPS).has(where`router_id = ${routerId} AND floating_network_id = ${networkId}`);
  const gateways = portsOfRouters(context, [routerId], [ROUTER_GATEWAY]);
  if (isUsed && gateways.filter((gateway) => gateway.networkId === networkId).length < 2) {
    throw gatewayInUse(routerId, networkId);
  }
  deleteRouterPort(context, port.id);
  context.touch(ROUTERS as never, routerId);
}
