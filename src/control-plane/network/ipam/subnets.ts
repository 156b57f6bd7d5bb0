import { type Condition, not, or, where } from "../../resources/condition.js";
import { isTrue } from "../engine/list.js";
import type { Behaviour, Computed, NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import { storedAttributes } from "../engine/records.js";
import { ownedBy, sharedRows } from "../engine/sharing.js";
import { formatAddress, fromKey } from "../ip/addresses.js";
import { formatNetwork, type IpNetwork, overlaps, parseNetwork } from "../ip/networks.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { SUBNETPOOLS } from "../resources/subnet-pools.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { addAutoAddresses, changeAddresses, fixedIpsOf } from "./allocate-addresses.js";
import { rejectGatewayInPools, sortPools, validatePools } from "./allocation-pools.js";
import { findSubnets, isAutoAddressSubnet, networkOfSubnet, ROUTER_INTERFACE_OWNERS } from "./candidate-subnets.js";
import { addPeerRoutes, updatePeerRoutes } from "./host-routes.js";
import { findDefaultPool } from "./subnet-pools.js";
import { allocateFromPool, chooseAddresses, type SubnetAddresses } from "./subnet-prefixes.js";
import {
  badSubnet,
  PROVISIONAL_PREFIX,
  type SubnetInput,
  validateDelegatedSubnet,
  validateNewSubnet,
  validateSubnetUpdate,
  versionOf,
} from "./subnet-rules.js";
import { validateSegmentChange, validateSegmentOfNew } from "./subnet-segments.js";

/** The id of the pool whose prefixes a router will get by delegation. */
const DELEGATION = "prefix_delegation";

/** Device owners of ports whose addresses do not prevent the deletion of a subnet. */
const AUTO_DELETED_OWNERS: readonly string[] = [
  "network:dhcp",
  "network:distributed",
  "network:floatingip_agent_gateway",
];

export const SUBNET_BEHAVIOUR: Behaviour<typeof SUBNETS.attributes> = {
  prepareCreate,
  afterCreate,
  prepareUpdate,
  afterUpdate: (context, subnet) => context.touch(NETWORKS, subnet.network_id),
  beforeDelete,
  afterDelete,
  compute: computeSubnets,
  visible: (context) => or(ownedBy(context, SUBNETS), ofNetworksFor(context, ["access_as_shared"])),
  filters: {
    shared: (context, [value = ""]) => matching(value, ofNetworksFor(context, ["access_as_shared"])),
    "router:external": (_context, [value = ""]) =>
      matching(value, {
        sql: `${SUBNETS.table}.network_id IN (SELECT id FROM ${NETWORKS.table} WHERE router_external = 1)`,
        values: [],
      }),
  },
};

function prepareCreate(context: NetworkContext, input: SubnetInput): Partial<SubnetRecord> {
  const addresses = chooseSubnetAddresses(context, input);
  const subnet = {
    network_id: input.network_id ?? "",
    subnetpool_id: addresses.poolId,
    ip_version: versionOf(input),
    cidr: formatNetwork(addresses.network),
    gateway_ip: addresses.gateway === undefined ? null : formatAddress(addresses.gateway),
    allocation_pools: addresses.pools,
    dns_nameservers: input.dns_nameservers ?? [],
    service_types: input.service_types ?? [],
    segment_id: input.segment_id ?? null,
    ...ipv6ModesOf(input),
    // Neutron stores service types in a second step.
    revision_number: (input.service_types ?? []).length > 0 ? 1 : 0,
  };
  assertFitsNetwork(context, subnet.network_id, addresses);
  validateSegmentOfNew(context, subnet);
  const routes = input.host_routes ?? [];
  const isRouted = subnet.segment_id !== null && input.gateway_ip;
  return { ...subnet, host_routes: isRouted ? addPeerRoutes(context, subnet, routes) : routes };
}

interface ChosenAddresses extends SubnetAddresses {
  readonly poolId: string | null;
}

/** Chooses the network, gateway and pools of a new subnet: the requested ones, or from a subnet pool. */
function chooseSubnetAddresses(context: NetworkContext, input: SubnetInput): ChosenAddresses {
  if (input.cidr && input.prefixlen !== undefined && input.prefixlen !== null) {
    throw badSubnet("cidr and prefixlen must not be supplied together");
  }
  const network = input.cidr ? parseNetwork(input.cidr) : undefined;
  const poolId = chooseSubnetPool(context, input, network);
  if (poolId === undefined && network === undefined) {
    throw badSubnet("a subnetpool must be specified in the absence of a cidr");
  }
  if (poolId !== undefined && network === undefined && input.allocation_pools) {
    throw badSubnet("allocation_pools allowed only for specific subnet requests.");
  }
  if (network !== undefined && (poolId === undefined || poolId === DELEGATION)) {
    validateNewSubnet(input, network);
    return { poolId: null, ...chooseAddresses(input, network) };
  }
  const provisional = parseNetwork(PROVISIONAL_PREFIX);
  if (poolId === DELEGATION && provisional !== undefined) {
    validateDelegatedSubnet(input);
    return { poolId, ...chooseAddresses(input, provisional) };
  }
  return { poolId: poolId ?? null, ...allocateFromPool(context, poolId ?? "", input, network) };
}

function chooseSubnetPool(
  context: NetworkContext,
  input: SubnetInput,
  network: IpNetwork | undefined,
): string | undefined {
  const { subnetpool_id: poolId, use_default_subnetpool: usesDefault } = input;
  if (usesDefault && poolId) {
    throw badSubnet("subnetpool_id and use_default_subnetpool cannot both be specified");
  }
  if (poolId || !usesDefault) {
    return poolId ?? undefined;
  }
  const version = network?.version ?? versionOf(input);
  const pool = findDefaultPool(context, version);
  if (pool === undefined) {
    throw badSubnet(`No default subnetpool found for IPv${version}`);
  }
  return pool.id;
}

/** Only subnets with DHCP have the modes; a subnet of a pool may name them without it. */
function ipv6ModesOf(input: SubnetInput): Pick<SubnetRecord, "ipv6_ra_mode" | "ipv6_address_mode"> {
  const isUsed = input.ip_version === 6 && input.enable_dhcp;
  return {
    ipv6_ra_mode: (isUsed && input.ipv6_ra_mode) || null,
    ipv6_address_mode: (isUsed && input.ipv6_address_mode) || null,
  };
}

/** Checks that a new subnet overlaps no other of its network, and comes from the same pool or address scope. */
function assertFitsNetwork(context: NetworkContext, networkId: string, { network, poolId }: ChosenAddresses): void {
  if (network.prefix === 0) {
    throw invalidOperation("0 is not allowed as CIDR prefix length");
  }
  const subnets = findSubnets(context, networkId);
  if (subnets.some((other) => other.cidr !== PROVISIONAL_PREFIX && overlaps(networkOfSubnet(other), network))) {
    throw invalidOperation(
      `Requested subnet with cidr: ${formatNetwork(network)} for network: ${networkId} overlaps with another subnet`,
    );
  }
  const sameVersion = subnets.filter(({ ip_version: version }) => version === network.version);
  const scope = sameVersion.map((subnet) => scopeOf(context, subnet.subnetpool_id)).find((id) => id !== null) ?? null;
  if (scope !== null && poolId !== null && scopeOf(context, poolId) !== scope) {
    throw networkError(
      400,
      "NetworkAddressScopeAffinityError",
      "Subnets of the same address family hosted on the same network must all participate in the same address scope.",
    );
  }
  const isScoped = scope !== null && poolId !== null;
  if (!isScoped && sameVersion.some((subnet) => subnet.subnetpool_id !== poolId)) {
    throw networkError(
      400,
      "NetworkSubnetPoolAffinityError",
      "Subnets hosted on the same network must be allocated from the same subnet pool.",
    );
  }
}

function scopeOf(context: NetworkContext, poolId: string | null): string | null {
  return poolId === null ? null : (context.table(SUBNETPOOLS).get(poolId)?.address_scope_id ?? null);
}

function afterCreate(context: NetworkContext, subnet: SubnetRecord): void {
  context.touch(NETWORKS, subnet.network_id);
  if (context.table(NETWORKS).get(subnet.network_id)?.["router:external"]) {
    addGatewayAddresses(context, subnet);
  }
  if (isAutoAddressSubnet(subnet)) {
    for (const port of addAutoAddresses(context, subnet)) {
      context.touch(PORTS, port);
    }
  }
  if (subnet.segment_id !== null) {
    updatePeerRoutes(context, subnet.network_id);
  }
}

/** Gives the gateways of routers an address of a new subnet of their external network: one of each IP version. */
function addGatewayAddresses(context: NetworkContext, subnet: SubnetRecord): void {
  const automatic = new Set(
    findSubnets(context, subnet.network_id)
      .filter(isAutoAddressSubnet)
      .map(({ id }) => id),
  );
  const gateways = context
    .table(PORTS)
    .find(where`network_id = ${subnet.network_id} AND device_owner = 'network:router_gateway'`);
  const addresses = fixedIpsOf(
    context,
    gateways.map(({ id }) => id),
  );
  for (const port of gateways) {
    const current = addresses.get(port.id) ?? [];
    const stateful = current.filter(({ subnet_id: id }) => !automatic.has(id));
    const versions = stateful.map(({ ip_address: address }) => (address.includes(":") ? 6 : 4));
    if (stateful.length < 2 && !versions.includes(versionOf(subnet))) {
      changeAddresses(context, port, [...current, { subnet_id: subnet.id }]);
      context.touch(PORTS, port.id);
    }
  }
}

function prepareUpdate(context: NetworkContext, subnet: SubnetRecord, changes: SubnetInput): Partial<SubnetRecord> {
  validateSubnetUpdate(context, subnet, changes);
  const { allocation_pools: pools, gateway_ip: gateway = subnet.gateway_ip } = changes;
  if (pools) {
    validatePools(pools, networkOfSubnet(subnet));
  }
  if (gateway !== null && (pools || gateway !== subnet.gateway_ip)) {
    rejectGatewayInPools(gateway, pools ?? subnet.allocation_pools ?? []);
  }
  if (changes.segment_id !== undefined) {
    validateSegmentChange(context, subnet, changes.segment_id);
  }
  if (pools) {
    context.services.freeAddresses.forget(subnet.id);
  }
  return {
    ...storedAttributes(SUBNETS, changes),
    ...(pools && { allocation_pools: sortPools(pools) }),
    ...routesOf(context, { ...subnet, gateway_ip: gateway }, subnet, changes),
  };
}

/** Returns the host routes after an update, with those to the network's other segments. */
function routesOf(
  context: NetworkContext,
  after: SubnetRecord,
  before: SubnetRecord,
  changes: SubnetInput,
): Partial<SubnetRecord> {
  const segment = changes.segment_id === undefined ? before.segment_id : changes.segment_id;
  const isGatewayChanged = after.gateway_ip !== before.gateway_ip;
  if (segment === null || (changes.host_routes === undefined && !isGatewayChanged)) {
    return {};
  }
  const routes = changes.host_routes ?? before.host_routes ?? [];
  const oldGateway = isGatewayChanged ? before.gateway_ip : undefined;
  return { host_routes: addPeerRoutes(context, { ...after, segment_id: segment }, routes, oldGateway) };
}

/** An address of a subnet, with its port. */
interface Allocation {
  readonly portId: string;
  readonly deviceOwner: string;
  readonly key: string;
}

/** Releases the addresses of ports that need no request for them. @throws {HttpError} 409 if others have some */
function beforeDelete(context: NetworkContext, subnet: SubnetRecord): void {
  const allocations = context.sql
    .all(
      `SELECT port.id, port.device_owner, allocation.address_key FROM network_ip_allocations AS allocation
        JOIN network_ports AS port ON port.id = allocation.port_id WHERE allocation.subnet_id = ?`,
      subnet.id,
    )
    .map(
      ([portId, owner, key]): Allocation => ({
        portId: String(portId),
        deviceOwner: String(owner),
        key: String(key),
      }),
    );
  const blocks = isAutoAddressSubnet(subnet)
    ? ({ deviceOwner }: Allocation) => ROUTER_INTERFACE_OWNERS.includes(deviceOwner)
    : ({ deviceOwner }: Allocation) => !AUTO_DELETED_OWNERS.includes(deviceOwner);
  if (allocations.some(blocks)) {
    throw networkError(
      409,
      "SubnetInUse",
      `Unable to complete operation on subnet ${subnet.id}: One or more ports have an IP allocation from this subnet.`,
    );
  }
  context.sql.execute("DELETE FROM network_ip_allocations WHERE subnet_id = ?", subnet.id);
  for (const { portId, key } of allocations) {
    context.services.freeAddresses.release(subnet.id, fromKey(key));
    context.touch(PORTS, portId);
  }
}

function afterDelete(context: NetworkContext, subnet: SubnetRecord): void {
  context.sql.afterCommit(() => context.services.freeAddresses.delete(subnet.id));
  context.touch(NETWORKS, subnet.network_id);
  if (subnet.segment_id !== null) {
    updatePeerRoutes(context, subnet.network_id, subnet.cidr ?? undefined);
  }
}

function computeSubnets(context: NetworkContext, subnets: readonly SubnetRecord[]): readonly Computed[] {
  const ids = JSON.stringify(subnets.map(({ network_id: id }) => id));
  const external = new Set(
    context.sql.strings(
      `SELECT id FROM ${NETWORKS.table} WHERE router_external = 1 AND id IN (SELECT value FROM json_each(?))`,
      ids,
    ),
  );
  return subnets.map(({ network_id: id }) => ({ "router:external": external.has(id) }));
}

/** Matches the subnets of networks that RBAC policies offer to the caller's project. */
function ofNetworksFor({ caller }: NetworkContext, actions: readonly string[]): Condition {
  const kind = { objectType: "network", actions };
  return sharedRows(`${SUBNETS.table}.network_id`, kind, caller.projectId);
}

function matching(value: string, condition: Condition): Condition {
  return isTrue(value) ? condition : not(condition);
}
