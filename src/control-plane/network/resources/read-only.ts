import { flag, integer, json, OWNER, text, textOrNull, uuid } from "../engine/attribute-types.js";
import { defineResource, type NetworkType } from "../engine/network-resource.js";

/** A number of addresses; beyond 53 bits it is a `bigint`. */
const addressCount: NetworkType<number | bigint> = { column: "integer" };

/** The addresses of a subnet, and how many of them ports have. */
export type SubnetAvailability = {
  readonly subnet_id: string;
  readonly ip_version: number;
  readonly cidr: string;
  readonly subnet_name: string;
  readonly used_ips: number;
  readonly total_ips: number | bigint;
};

/** Numbers of the addresses of networks. */
export const NETWORK_IP_AVAILABILITIES = defineResource({
  collection: "network_ip_availabilities",
  singular: "network_ip_availability",
  path: "/v2.0/network-ip-availabilities",
  extension: "network-ip-availability",
  table: "network_ip_availabilities",
  view: `SELECT rowid, id, id AS network_id, name AS network_name, project_id FROM network_networks`,
  attributes: {
    network_id: { type: text, filter: true, sort: true },
    network_name: { type: text, filter: true },
    project_id: { ...OWNER.project_id, post: false },
    total_ips: { type: addressCount, stored: false },
    used_ips: { type: integer, stored: false },
    subnet_ip_availability: { type: json<readonly SubnetAvailability[]>(), stored: false },
    ip_version: { type: integer, stored: false, filter: true, visible: false },
    id: { type: text, visible: false },
  },
  operations: ["list", "show"],
  notFound: { type: "NetworkNotFound", message: (id) => `Network ${id} could not be found.` },
});

/** Drivers of service plugins: those of routers. */
export const SERVICE_PROVIDERS = defineResource({
  collection: "service_providers",
  singular: "service_provider",
  path: "/v2.0/service-providers",
  extension: "service-type",
  table: "network_service_providers",
  view: `SELECT column1 AS rowid, column3 AS id, column2 AS service_type, column3 AS name, 0 AS default_ FROM (VALUES
    (1, 'L3_ROUTER_NAT', 'dvrha'), (2, 'L3_ROUTER_NAT', 'dvr'),
    (3, 'L3_ROUTER_NAT', 'ha'), (4, 'L3_ROUTER_NAT', 'single_node'))`,
  attributes: {
    service_type: { type: text },
    name: { type: text },
    default: { type: flag },
    id: { type: text, visible: false },
  },
  operations: ["list"],
  notFound: { type: "ServiceProviderNotFound" },
});

/** Networks that the service created with a router for projects that had none. The id is the network's. */
export const AUTO_ALLOCATED_TOPOLOGIES = defineResource({
  collection: "auto_allocated_topologies",
  singular: "auto_allocated_topology",
  path: "/v2.0/auto-allocated-topology",
  extension: "auto-allocated-topology",
  table: "network_auto_allocated_topologies",
  references: {
    id: { table: "network_networks", onDelete: "cascade" },
    router_id: { table: "network_routers", onDelete: "set null" },
  },
  unique: [["project_id"]],
  attributes: {
    id: { type: uuid },
    project_id: { ...OWNER.project_id, post: false },
    router_id: { type: textOrNull, visible: false },
  },
  operations: [],
  notFound: { type: "AutoAllocatedTopologyNotFound" },
});
