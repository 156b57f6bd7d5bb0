import { isObject } from "../../../runtime/collections.js";
import type { Json } from "../../http/json.js";
import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { badResource, networkError, recordNotFound } from "../engine/network-errors.js";
import { createRecord, findRecord, updateRecord } from "../engine/records.js";
import type { Body } from "../engine/validate-attributes.js";
import { VALIDATORS } from "../engine/validators.js";
import { parseAddress } from "../ip/addresses.js";
import { type FixedIp, fixedIpsOf } from "../ipam/allocate-addresses.js";
import { rangesOf } from "../ipam/allocation-pools.js";
import { FLOATINGIPS, PORT_FORWARDINGS } from "../resources/floating-ips.js";
import { PORTS } from "../resources/ports.js";
import { RBAC_POLICIES } from "../resources/rbac-policies.js";
import { ROUTERS, type RouterRecord } from "../resources/routers.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { assertNoNdpProxyOn } from "./ndp-proxy-state.js";
import {
  deleteRouterPort,
  isInSubnet,
  isIpv6,
  portsOfRouters,
  ROUTER_INTERFACE,
  type RouterPort,
  rejectOverlaps,
  subnetsWithIds,
} from "./router-ports.js";

interface Interface {
  readonly portId: string;
  readonly projectId: string;
  readonly networkId: string;
  readonly subnets: readonly string[];
}

/** `PUT /routers/{id}/add_router_interface` by a subnet, whose gateway address the router takes, or by a port. */
export function addRouterInterface(context: NetworkContext, router: RouterRecord, body: Body): Json {
  const { subnet_id: subnetId, port_id: portId } = readInterface(body);
  if (subnetId !== undefined && portId !== undefined) {
    throw badResource("router", "Cannot specify both subnet-id and port-id.");
  }
  const added = portId === undefined ? addSubnet(context, router, subnetId ?? "") : addPort(context, router, portId);
  context.touch(ROUTERS as never, router.id);
  return render(router, added, added.subnets.at(-1));
}

/** `PUT /routers/{id}/remove_router_interface` by a subnet, a port, or both. */
export function removeRouterInterface(context: NetworkContext, router: RouterRecord, body: Body): Json {
  const { subnet_id: subnetId, port_id: portId } = readInterface(body);
  const removed =
    portId === undefined
      ? removeSubnet(context, router, subnetId ?? "")
      : removePort(context, router, portId, subnetId);
  context.touch(ROUTERS as never, router.id);
  return render(router, removed, removed.subnets[0]);
}

function render({ id }: RouterRecord, { portId, projectId, networkId, subnets }: Interface, subnetId = ""): Json {
  return {
    id,
    tenant_id: projectId,
    project_id: projectId,
    port_id: portId,
    network_id: networkId,
    subnet_id: subnetId,
    subnet_ids: subnets,
  };
}

/** @throws {HttpError} 400 */
function readInterface(body: unknown): { readonly subnet_id?: string; readonly port_id?: string } {
  const { subnet_id: subnetId, port_id: portId } = isObject(body) ? body : {};
  if (subnetId === undefined && portId === undefined) {
    throw badResource("router", "Either subnet_id or port_id must be specified.");
  }
  for (const id of [portId, subnetId]) {
    const failure = id === undefined ? undefined : VALIDATORS["type:uuid"]?.(id, null);
    if (failure !== undefined) {
      throw badResource("router", `${failure}.`);
    }
  }
  return {
    ...(typeof subnetId === "string" && { subnet_id: subnetId }),
    ...(typeof portId === "string" && { port_id: portId }),
  };
}

function addSubnet(context: NetworkContext, router: RouterRecord, subnetId: string): Interface {
  const subnet = findRecord(context, SUBNETS, subnetId);
  if (subnet.gateway_ip === null) {
    throw badResource("router", "Subnet for router interface must have a gateway IP.");
  }
  assertMayConnect(context, subnet);
  rejectExternalRouter(subnet);
  const ports = portsOfRouters(context, [router.id]);
  rejectOverlaps(context, ports, [subnet], ROUTER_INTERFACE);
  const address = { subnet_id: subnet.id, ip_address: subnet.gateway_ip };
  const existing = subnet.ip_version === 6 ? findIpv6Interface(ports, subnet.network_id) : undefined;
  if (existing) {
    const port = updateRecord(context.internal, PORTS, existing.id, { fixed_ips: [...existing.fixedIps, address] });
    return { portId: port.id, projectId: port.project_id, networkId: port.network_id, subnets: [subnet.id] };
  }
  const port = createRecord(context.internal, PORTS, {
    project_id: router.project_id,
    network_id: subnet.network_id,
    fixed_ips: [address],
    device_id: router.id,
    device_owner: ROUTER_INTERFACE,
    status: "ACTIVE",
  });
  return { portId: port.id, projectId: port.project_id, networkId: port.network_id, subnets: [subnet.id] };
}

/** Routers may use subnets of other projects only if an RBAC policy names their own project. */
function assertMayConnect(
  { caller, sql }: NetworkContext,
  { id, project_id: owner, network_id: network }: SubnetRecord,
) {
  const isAllowed =
    owner === caller.projectId ||
    caller.isAdmin ||
    sql.get(
      `SELECT 1 FROM ${RBAC_POLICIES.table} WHERE object_type = 'network' AND object_id = ?
        AND action = 'access_as_shared' AND target_tenant = ? LIMIT 1`,
      network,
      caller.projectId,
    ) !== undefined;
  if (!isAllowed) {
    throw badResource(
      "router",
      `Cannot add interface to router because subnet ${id} is not owned by project making the request.`,
    );
  }
}

function rejectExternalRouter({ id, ip_version, ipv6_ra_mode, ipv6_address_mode }: SubnetRecord): void {
  if (ip_version === 6 && ipv6_ra_mode === null && ipv6_address_mode !== null) {
    throw badResource(
      "router",
      `IPv6 subnet ${id} configured to receive RAs from an external router cannot be added to Neutron Router..`,
    );
  }
}

function hasIpv6(addresses: readonly FixedIp[]): boolean {
  return addresses.some(({ ip_address: address }) => isIpv6(address));
}

function findIpv6Interface(ports: readonly RouterPort[], networkId: string): RouterPort | undefined {
  return ports.find(
    (port) => port.owner === ROUTER_INTERFACE && port.networkId === networkId && hasIpv6(port.fixedIps),
  );
}

function addPort(context: NetworkContext, router: RouterRecord, portId: string): Interface {
  const port = findRecord(context, PORTS, portId);
  if (port.device_id !== "") {
    throw networkError(
      409,
      "PortInUse",
      `Unable to complete operation on port ${port.id} for network ${port.network_id}. Port already has an attached device ${port.device_id}.`,
    );
  }
  const addresses = fixedIpsOf(context, [portId]).get(portId) ?? [];
  if (addresses.length === 0) {
    throw badResource("router", "Router port must have at least one fixed IP.");
  }
  const subnets = subnetsWithIds(
    context,
    addresses.map(({ subnet_id: id }) => id),
  );
  for (const subnet of subnets) {
    rejectExternalRouter(subnet);
  }
  const ports = portsOfRouters(context, [router.id]);
  const existing = hasIpv6(addresses)
    ? ports.find((one) => one.networkId === port.network_id && hasIpv6(one.fixedIps))
    : undefined;
  if (existing) {
    throw badResource(
      "router",
      `Cannot have multiple router ports with the same network id if both contain IPv6 subnets. Existing port ${existing.id} has IPv6 subnet(s) and network id ${existing.networkId}.`,
    );
  }
  rejectOverlaps(context, ports, subnets, ROUTER_INTERFACE);
  if (subnets.filter(({ ip_version: version }) => version === 4).length > 1) {
    throw badResource("router", "Cannot have multiple IPv4 subnets on router port.");
  }
  assertInPools(context, portId, addresses, subnets);
  updateRecord(context.internal, PORTS, portId, {
    device_id: router.id,
    device_owner: ROUTER_INTERFACE,
    status: "ACTIVE",
  });
  return {
    portId,
    projectId: port.project_id,
    networkId: port.network_id,
    subnets: addresses.map(({ subnet_id: id }) => id),
  };
}

/** Members may connect ports with addresses outside the pools only on their own subnets. */
function assertInPools(
  { caller }: NetworkContext,
  portId: string,
  addresses: readonly FixedIp[],
  subnets: readonly SubnetRecord[],
): void {
  for (const { subnet_id: subnetId, ip_address: text } of addresses) {
    const subnet = subnets.find(({ id }) => id === subnetId);
    const address = parseAddress(text);
    const isPooled = rangesOf(subnet?.allocation_pools ?? []).some(
      ({ first, last }) => address !== undefined && address.value >= first && address.value <= last,
    );
    if (!isPooled && !caller.isAdmin && caller.projectId !== subnet?.project_id) {
      throw badResource(
        "router",
        `Cannot add interface to router because specified port ${portId} has an IP address out of the allocation pool of subnet ${subnetId}, which is not owned by the project making the request.`,
      );
    }
  }
}

function removePort(context: NetworkContext, router: RouterRecord, portId: string, subnetId?: string): Interface {
  const port = portsOfRouters(context, [router.id], [ROUTER_INTERFACE]).find(({ id }) => id === portId);
  if (port === undefined) {
    throw networkError(
      404,
      "RouterInterfaceNotFound",
      `Router ${router.id} does not have an interface with id ${portId}`,
    );
  }
  const ids = port.fixedIps.map(({ subnet_id: id }) => id);
  if (subnetId !== undefined && !ids.includes(subnetId)) {
    throw networkError(
      400,
      "SubnetMismatchForPort",
      `Subnet on port ${portId} does not match the requested subnet ${subnetId}.`,
    );
  }
  for (const subnet of subnetsWithIds(context, ids)) {
    assertNotInUse(context, router, subnet);
  }
  const projectId = projectOf(context, portId);
  deleteRouterPort(context, portId);
  return { portId, projectId, networkId: port.networkId, subnets: ids };
}

function removeSubnet(context: NetworkContext, router: RouterRecord, subnetId: string): Interface {
  const subnet = findRecord(context, SUBNETS, subnetId);
  const ports = portsOfRouters(context, [router.id], [ROUTER_INTERFACE]).filter(
    ({ networkId }) => networkId === subnet.network_id,
  );
  if (ports.length > 0) {
    assertNotInUse(context, router, subnet);
  }
  const port = ports.find(({ fixedIps }) => fixedIps.some(({ subnet_id: id }) => id === subnetId));
  if (port === undefined) {
    throw networkError(
      404,
      "RouterInterfaceNotFoundForSubnet",
      `Router ${router.id} has no interface on subnet ${subnetId}`,
    );
  }
  const projectId = projectOf(context, port.id);
  const remaining = port.fixedIps.filter(({ subnet_id: id }) => id !== subnetId);
  if (remaining.length > 0) {
    updateRecord(context.internal, PORTS, port.id, { fixed_ips: remaining });
  } else {
    deleteRouterPort(context, port.id);
  }
  return { portId: port.id, projectId, networkId: port.networkId, subnets: [subnetId] };
}

function projectOf(context: NetworkContext, portId: string): string {
  const port = context.table(PORTS).get(portId);
  if (port === undefined) {
    throw recordNotFound(PORTS as never, portId);
  }
  return port.project_id;
}

/** @throws {HttpError} 409 while an NDP proxy, a floating IP, a port forwarding or a route needs the interface */
function assertNotInUse(context: NetworkContext, { id, routes }: RouterRecord, subnet: SubnetRecord): void {
  assertNoNdpProxyOn(context, id, subnet.id);
  if (hasFloatingIp(context, id, subnet.id)) {
    throw networkError(
      409,
      "RouterInterfaceInUseByFloatingIP",
      `Router interface for subnet ${subnet.id} on router ${id} cannot be deleted, as it is required by one or more floating IPs.`,
    );
  }
  if (routes.some(({ nexthop }) => isInSubnet(nexthop, subnet))) {
    throw networkError(
      409,
      "RouterInterfaceInUseByRoute",
      `Router interface for subnet ${subnet.id} on router ${id} cannot be deleted, as it is required by one or more routes.`,
    );
  }
}

function hasFloatingIp({ sql }: NetworkContext, routerId: string, subnetId: string): boolean {
  const used = sql.get(
    `SELECT 1 FROM ${FLOATINGIPS.table} AS ips
      LEFT JOIN ${PORT_FORWARDINGS.table} AS forwardings ON forwardings.floatingip_id = ips.id
      JOIN network_ip_allocations AS addresses ON addresses.port_id IN (ips.port_id, forwardings.internal_port_id)
        AND addresses.address IN (ips.fixed_ip_address, forwardings.internal_ip_address)
      WHERE ips.router_id = ? AND +addresses.subnet_id = ? LIMIT 1`,
    routerId,
    subnetId,
  );
  return used !== undefined;
}

/** Returns the ids of a router's interfaces. */
export function interfacesOf(context: NetworkContext, routerId: string): readonly string[] {
  return context.table(PORTS).ids(where`device_id = ${routerId} AND device_owner = ${ROUTER_INTERFACE}`);
}
