import { isoSeconds } from "../http/times.js";
import { FLAT_SUBNET } from "../store/network-settings.js";
import { enforce, may, type NetworkCall } from "./api/call.js";
import type { Attributes } from "./api/listing.js";
import { type Resource, routesOf } from "./api/resource-routes.js";
import { tagRoutes } from "./api/tags.js";
import { FLAT_NETWORK, NETWORK_ZONE, rejectChange } from "./flat-network.js";

type Flat = typeof FLAT_NETWORK;

/** The owner of predefined records: no project. */
const NOBODY = "";

const COMMON: Attributes<Flat> = {
  tenant_id: () => NOBODY,
  project_id: () => NOBODY,
  description: () => "",
  created_at: () => isoSeconds(LONG_AGO),
  updated_at: () => isoSeconds(LONG_AGO),
  revision_number: () => 1,
};

const LONG_AGO = Date.UTC(2024, 0, 1);

const NETWORK: Attributes<Flat> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  admin_state_up: () => true,
  mtu: ({ mtu }) => mtu,
  status: () => "ACTIVE",
  subnets: ({ subnetId }) => [subnetId],
  shared: () => true,
  availability_zone_hints: () => [],
  availability_zones: () => [NETWORK_ZONE],
  ipv4_address_scope: () => null,
  ipv6_address_scope: () => null,
  "router:external": () => false,
  port_security_enabled: () => true,
  tags: ({ id }, { store }) => [...store.networkTags.of(id)],
  ...COMMON,
};

const PROVIDER: Attributes<Flat> = {
  "provider:network_type": () => "flat",
  "provider:physical_network": () => "physnet1",
  "provider:segmentation_id": () => null,
};

const SUBNET: Attributes<Flat> = {
  id: ({ subnetId }) => subnetId,
  name: ({ subnetName }) => subnetName,
  network_id: ({ id }) => id,
  ip_version: () => 4,
  cidr: () => FLAT_SUBNET.cidr,
  gateway_ip: () => FLAT_SUBNET.gateway,
  enable_dhcp: () => false,
  allocation_pools: () => [{ start: FLAT_SUBNET.first, end: FLAT_SUBNET.last }],
  dns_nameservers: () => [],
  host_routes: () => [],
  ipv6_address_mode: () => null,
  ipv6_ra_mode: () => null,
  service_types: () => [],
  subnetpool_id: () => null,
  tags: ({ subnetId }, { store }) => [...store.networkTags.of(subnetId)],
  ...COMMON,
};

const NETWORKS: Resource<Flat> = {
  plural: "networks",
  singular: "network",
  path: "/v2.0/networks",
  attributes: ({ caller }) => (may(caller, "get_network:provider") ? { ...NETWORK, ...PROVIDER } : NETWORK),
  owner: () => NOBODY,
  list: () => [FLAT_NETWORK],
  find: (_call, id) => (id === FLAT_NETWORK.id ? FLAT_NETWORK : undefined),
  create: (call) => rejectCreate(call, "create_network", "no other is created"),
  update: { rule: "update_network", change: () => rejectChange("it is not changed") },
  remove: () => rejectChange("it is not deleted"),
};

const SUBNETS: Resource<Flat> = {
  plural: "subnets",
  singular: "subnet",
  path: "/v2.0/subnets",
  attributes: () => SUBNET,
  owner: () => NOBODY,
  list: () => [FLAT_NETWORK],
  find: (_call, id) => (id === FLAT_NETWORK.subnetId ? FLAT_NETWORK : undefined),
  create: (call) => rejectCreate(call, "create_subnet", "it has one subnet, and no other is created"),
  update: { rule: "update_subnet", change: () => rejectChange("its subnet is not changed") },
  remove: () => rejectChange("its subnet is not deleted"),
};

/** Rejects a creation. Callers who may not create one get the policy's error instead. */
function rejectCreate({ caller }: NetworkCall, rule: "create_network" | "create_subnet", what: string): never {
  enforce(caller, rule, caller.projectId ?? undefined);
  return rejectChange(what);
}

export const NETWORK_ROUTES = [
  ...routesOf(NETWORKS),
  ...routesOf(SUBNETS),
  // The records are constants; only their tags change.
  ...[NETWORKS, SUBNETS].flatMap((kind) => tagRoutes<Flat>({ ...kind, touch: () => {} })),
];
