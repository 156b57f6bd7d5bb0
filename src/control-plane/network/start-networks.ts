import { createOnce } from "./engine/create-once.js";
import type { NetworkContext } from "./engine/network-context.js";
import { createRecord, updateRecord } from "./engine/records.js";
import { addRouterInterface } from "./l3/router-interfaces.js";
import { NETWORKS } from "./resources/networks.js";
import { ROUTERS } from "./resources/routers.js";
import { SUBNETPOOLS } from "./resources/subnet-pools.js";
import { SUBNETS } from "./resources/subnets.js";

/** The networks that a cloud starts with. */
export interface StartNetworks {
  /** Those of devstack with a large network that all projects share, one flat network that all share, or none. */
  readonly start: "devstack" | "flat" | "empty";
  /** Ids of projects by name. Without `demo` there are neither its network nor its router. */
  readonly projects: { readonly admin?: string; readonly demo?: string };
}

/** The owner of predefined records if there is no project `admin`. */
const NO_PROJECT = "";

/** The network that all projects share in a cloud that starts flat. */
export const FLAT_NETWORK = {
  id: "c0ffee00-0000-4000-8000-000000000010",
  subnetId: "c0ffee00-0000-4000-8000-000000000011",
} as const;

/** Fixed ids, so that scripts and saved clusters can name the records. */
const ID = {
  sharedNetwork: "c0ffee00-0000-4000-8000-000000000020",
  sharedSubnet: "c0ffee00-0000-4000-8000-000000000021",
  pool4: "c0ffee00-0000-4000-8000-000000000030",
  pool6: "c0ffee00-0000-4000-8000-000000000031",
  publicNetwork: "c0ffee00-0000-4000-8000-000000000040",
  publicSubnet4: "c0ffee00-0000-4000-8000-000000000041",
  publicSubnet6: "c0ffee00-0000-4000-8000-000000000042",
  privateNetwork: "c0ffee00-0000-4000-8000-000000000050",
  privateSubnet4: "c0ffee00-0000-4000-8000-000000000051",
  privateSubnet6: "c0ffee00-0000-4000-8000-000000000052",
  router: "c0ffee00-0000-4000-8000-000000000060",
} as const;

/** Neutron's `external physical network` of devstack. */
const PHYSICAL_NETWORK = "public";

/**
 * Creates the networks that a cloud starts with, at its first start. What a user has changed or deleted stays so. Callers
 * run it in a transaction.
 */
export function createStartNetworks(context: NetworkContext, { start, projects }: StartNetworks): void {
  const { internal } = context;
  createOnce(internal, "start-networks", () => {
    if (start === "flat") {
      createFlatNetwork(internal);
    } else if (start === "devstack") {
      createDevstackNetworks(internal, projects);
    }
  });
}

/** The only network of clusters before Neutron's networks existed. */
function createFlatNetwork(context: NetworkContext): void {
  createRecord(context, NETWORKS, {
    id: FLAT_NETWORK.id,
    project_id: NO_PROJECT,
    name: "private",
    shared: true,
    "provider:network_type": "flat",
    "provider:physical_network": PHYSICAL_NETWORK,
  });
  createRecord(context, SUBNETS, {
    id: FLAT_NETWORK.subnetId,
    project_id: NO_PROJECT,
    network_id: FLAT_NETWORK.id,
    name: "private-subnet",
    ip_version: 4,
    cidr: "10.0.0.0/12",
    gateway_ip: "10.0.0.1",
    allocation_pools: [{ start: "10.0.0.2", end: "10.15.255.254" }],
    enable_dhcp: false,
  });
}

function createDevstackNetworks(
  context: NetworkContext,
  { admin = NO_PROJECT, demo }: StartNetworks["projects"],
): void {
  createSubnetPools(context, admin);
  createPublicNetwork(context, admin);
  createSharedNetwork(context, admin);
  if (demo !== undefined) {
    createPrivateNetwork(context, demo);
    createRouter(context, demo);
  }
}

function createSubnetPools(context: NetworkContext, project_id: string): void {
  const pool = { project_id, shared: true, is_default: true };
  createRecord(context, SUBNETPOOLS, {
    ...pool,
    id: ID.pool4,
    name: "shared-default-subnetpool-v4",
    prefixes: ["10.0.0.0/22"],
    default_prefixlen: 26,
  });
  createRecord(context, SUBNETPOOLS, {
    ...pool,
    id: ID.pool6,
    name: "shared-default-subnetpool-v6",
    prefixes: ["fd12:3456:789a::/56"],
    default_prefixlen: 64,
  });
}

/** The external network, which the gateways of routers and floating IPs use. */
function createPublicNetwork(context: NetworkContext, project_id: string): void {
  createRecord(context, NETWORKS, {
    id: ID.publicNetwork,
    project_id,
    name: "public",
    "router:external": true,
    is_default: true,
    "provider:network_type": "flat",
    "provider:physical_network": PHYSICAL_NETWORK,
  });
  const subnet = { project_id, network_id: ID.publicNetwork, enable_dhcp: false };
  createRecord(context, SUBNETS, {
    ...subnet,
    id: ID.publicSubnet4,
    name: "public-subnet",
    ip_version: 4,
    cidr: "172.24.4.0/24",
  });
  createRecord(context, SUBNETS, {
    ...subnet,
    id: ID.publicSubnet6,
    name: "ipv6-public-subnet",
    ip_version: 6,
    cidr: "2001:db8::/64",
    gateway_ip: "2001:db8::2",
  });
}

/** devstack has no such network: its `private` has too few addresses for thousands of servers. */
function createSharedNetwork(context: NetworkContext, project_id: string): void {
  createRecord(context, NETWORKS, { id: ID.sharedNetwork, project_id, name: "shared", shared: true });
  createRecord(context, SUBNETS, {
    id: ID.sharedSubnet,
    project_id,
    network_id: ID.sharedNetwork,
    name: "shared-subnet",
    ip_version: 4,
    cidr: "10.128.0.0/9",
    enable_dhcp: false,
  });
}

function createPrivateNetwork(context: NetworkContext, project_id: string): void {
  createRecord(context, NETWORKS, { id: ID.privateNetwork, project_id, name: "private" });
  const subnet = { project_id, network_id: ID.privateNetwork };
  createRecord(context, SUBNETS, {
    ...subnet,
    id: ID.privateSubnet4,
    name: "private-subnet",
    ip_version: 4,
    subnetpool_id: ID.pool4,
  });
  createRecord(context, SUBNETS, {
    ...subnet,
    id: ID.privateSubnet6,
    name: "ipv6-private-subnet",
    ip_version: 6,
    subnetpool_id: ID.pool6,
    ipv6_ra_mode: "slaac",
    ipv6_address_mode: "slaac",
  });
}

function createRouter(context: NetworkContext, project_id: string): void {
  const router = createRecord(context, ROUTERS, { id: ID.router, project_id, name: "router1" });
  const external_gateway_info = { network_id: ID.publicNetwork };
  updateRecord(context, ROUTERS, router.id, { external_gateway_info });
  addRouterInterface(context, router, { subnet_id: ID.privateSubnet4 });
  addRouterInterface(context, router, { subnet_id: ID.privateSubnet6 });
}
