import type { NetworkContext } from "../engine/network-context.js";
import { badResource } from "../engine/network-errors.js";
import { deleteRecord } from "../engine/records.js";
import { parseAddress } from "../ip/addresses.js";
import { contains, overlaps, parseNetwork } from "../ip/networks.js";
import { type FixedIp, fixedIpsOf } from "../ipam/allocate-addresses.js";
import { PORTS } from "../resources/ports.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";

/** Device owners of the ports that belong to this service. */
export const ROUTER_INTERFACE = "network:router_interface";
export const ROUTER_GATEWAY = "network:router_gateway";
export const FLOATING_IP = "network:floatingip";
export const LOCAL_IP = "network:local_ip";

/** An interface or a gateway of a router. */
export interface RouterPort {
  readonly id: string;
  readonly routerId: string;
  readonly networkId: string;
  readonly owner: string;
  readonly fixedIps: readonly FixedIp[];
}

/** Returns the interfaces and gateways of routers, in the order in which they were attached. */
export function portsOfRouters(
  context: NetworkContext,
  routerIds: readonly string[],
  owners: readonly string[] = [ROUTER_INTERFACE, ROUTER_GATEWAY],
): readonly RouterPort[] {
  const rows = context.sql.all(
    `SELECT id, device_id, network_id, device_owner FROM ${PORTS.table}
      WHERE device_id IN (SELECT value FROM json_each(?)) AND device_owner IN (SELECT value FROM json_each(?))
      ORDER BY rowid`,
    JSON.stringify(routerIds),
    JSON.stringify(owners),
  );
  const addresses = fixedIpsOf(
    context,
    rows.map(([id]) => String(id)),
  );
  return rows.map(([id, routerId, networkId, owner]) => ({
    id: String(id),
    routerId: String(routerId),
    networkId: String(networkId),
    owner: String(owner),
    fixedIps: addresses.get(String(id)) ?? [],
  }));
}

export function subnetsWithIds(context: NetworkContext, ids: readonly string[]): readonly SubnetRecord[] {
  return context.table(SUBNETS).withIds([...new Set(ids)]);
}

export function isInSubnet(address: string, { cidr }: Pick<SubnetRecord, "cidr">): boolean {
  const parsed = parseAddress(address);
  const network = parseNetwork(cidr ?? "");
  return parsed !== undefined && network !== undefined && contains(network, parsed);
}

export const isIpv4 = (address: string): boolean => parseAddress(address)?.version === 4;

export const isIpv6 = (address: string): boolean => parseAddress(address)?.version === 6;

/**
 * Checks that a router may be connected to further subnets: it has no port on them, and they overlap with none of its
 * others. Several gateways may share an external network.
 * @throws {HttpError} 400
 */
export function rejectOverlaps(
  context: NetworkContext,
  ports: readonly RouterPort[],
  added: readonly SubnetRecord[],
  owner: typeof ROUTER_INTERFACE | typeof ROUTER_GATEWAY,
): void {
  const isShared = (port: RouterPort): boolean => owner === ROUTER_GATEWAY && port.owner === ROUTER_GATEWAY;
  for (const port of ports) {
    const repeated = port.fixedIps.find(({ subnet_id: id }) => added.some((subnet) => subnet.id === id));
    if (repeated && !isShared(port)) {
      throw badResource("router", `Router already has a port on subnet ${repeated.subnet_id}.`);
    }
  }
  const networks = new Set(ports.filter(({ owner: own }) => own === ROUTER_GATEWAY).map(({ networkId }) => networkId));
  const external = [...networks].flatMap((id) => context.table(SUBNETS).find({ sql: "network_id = ?", values: [id] }));
  const internal = subnetsWithIds(
    context,
    ports
      .filter(({ owner: own }) => own !== ROUTER_GATEWAY)
      .flatMap(({ fixedIps }) => fixedIps.map(({ subnet_id: id }) => id)),
  );
  for (const subnet of [...internal, ...external]) {
    const overlapping = added.find(
      (one) => isOverlap(one, subnet) && !(owner === ROUTER_GATEWAY && networks.has(one.network_id)),
    );
    if (overlapping) {
      throw badResource(
        "router",
        `Cidr ${overlapping.cidr} of subnet ${overlapping.id} overlaps with cidr ${subnet.cidr} of subnet ${subnet.id}.`,
      );
    }
  }
}

function isOverlap(a: SubnetRecord, b: SubnetRecord): boolean {
  const [first, second] = [parseNetwork(a.cidr ?? ""), parseNetwork(b.cidr ?? "")];
  return first !== undefined && second !== undefined && overlaps(first, second);
}

/** Deletes a port of a router, which the API of ports rejects. */
export function deleteRouterPort(context: NetworkContext, portId: string): void {
  deleteRecord(context.internal, PORTS, portId);
}
