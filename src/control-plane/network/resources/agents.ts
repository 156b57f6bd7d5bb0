import type { Json } from "../../http/json.js";
import { boolean, flag, ID, json, string, stringOrNull, text, textOrNull } from "../engine/attribute-types.js";
import { defineResource, type NetworkType } from "../engine/network-resource.js";

/**
 * Tables of agents beside the services of Compute that they follow from. The schedules say where requests have added, or
 * removed, networks and routers.
 */
export const AGENT_TABLES = [
  `CREATE TABLE IF NOT EXISTS network_agent_settings (
    agent_id TEXT PRIMARY KEY,
    admin_state_up INTEGER NOT NULL DEFAULT 1,
    description TEXT,
    deleted_at INTEGER
  ) STRICT`,
  `CREATE TABLE IF NOT EXISTS network_agent_defaults (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    bridge_mappings TEXT NOT NULL,
    availability_zone TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE IF NOT EXISTS network_host_bridges (
    host TEXT PRIMARY KEY,
    bridge_mappings TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE IF NOT EXISTS network_dhcp_schedules (
    network_id TEXT NOT NULL REFERENCES network_networks (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    is_hosted INTEGER NOT NULL,
    PRIMARY KEY (network_id, agent_id)
  ) STRICT`,
  `CREATE TABLE IF NOT EXISTS network_router_schedules (
    router_id TEXT NOT NULL REFERENCES network_routers (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    is_hosted INTEGER NOT NULL,
    PRIMARY KEY (router_id, agent_id)
  ) STRICT`,
];

/** Heartbeats of Compute's agent are those of the agents of its host. */
const HEARTBEAT = "coalesce(service.last_seen_up, service.created_at)";

/** Columns that depend on the settings of an agent. A deleted agent is back after its next heartbeat. */
const settingsOf = (id: string) => `
  coalesce((SELECT admin_state_up FROM network_agent_settings WHERE agent_id = ${id}), 1) AS admin_state_up,
  (SELECT description FROM network_agent_settings WHERE agent_id = ${id}) AS description`;

const isKnown = (id: string) => `+service.binary = 'nova-compute' AND service.deleted = 0 AND NOT EXISTS (
  SELECT 1 FROM network_agent_settings AS settings
  WHERE settings.agent_id = ${id} AND settings.deleted_at >= ${HEARTBEAT})`;

const TIMES = `service.created_at AS created_at, service.created_at AS started_at,
  ${HEARTBEAT} AS heartbeat_timestamp, service.forced_down AS forced_down, NULL AS resources_synced`;

const OPEN_VSWITCH = `SELECT service.id AS rowid, service.uuid AS id, service.host AS host,
  'Open vSwitch agent' AS agent_type, 'neutron-openvswitch-agent' AS binary, 'N/A' AS topic,
  CAST(NULL AS TEXT) AS availability_zone, ${settingsOf("service.uuid")}, ${TIMES},
  json_object(
    'bridge_mappings', json(coalesce(
      (SELECT bridge_mappings FROM network_host_bridges AS bridges WHERE bridges.host = service.host),
      (SELECT bridge_mappings FROM network_agent_defaults), '{}')),
    'datapath_type', 'system', 'devices', 0, 'extensions', json('["qos", "log"]'), 'integration_bridge', 'br-int',
    'ovs_capabilities', json('{"datapath_types": ["system"], "iface_types": ["internal", "tap", "vxlan"]}'),
    'tunnel_types', json('["vxlan", "gre", "geneve"]'), 'tunneling_ip', '127.' || (service.id >> 16 & 255) || '.' || (service.id >> 8 & 255) || '.' || (service.id & 255),
    'vhostuser_socket_dir', '/var/run/openvswitch'
  ) AS configurations
  FROM services AS service WHERE ${isKnown("service.uuid")}`;

interface HostAgent {
  readonly type: string;
  readonly binary: string;
  readonly topic: string;
  /** First digits of its id; the others are those of the service's. */
  readonly prefix: string;
  readonly hasZone: boolean;
  readonly configurations: Json;
}

/** Agents that only the first host has. */
const HOST_AGENTS: readonly HostAgent[] = [
  {
    type: "DHCP agent",
    binary: "neutron-dhcp-agent",
    topic: "dhcp_agent",
    prefix: "d4c90001",
    hasZone: true,
    configurations: {
      dhcp_driver: "neutron.agent.linux.dhcp.Dnsmasq",
      dhcp_lease_duration: 86400,
      networks: 0,
      ports: 0,
      subnets: 0,
    },
  },
  {
    type: "L3 agent",
    binary: "neutron-l3-agent",
    topic: "l3_agent",
    prefix: "13a90002",
    hasZone: true,
    configurations: {
      agent_mode: "legacy",
      ex_gw_ports: 0,
      extensions: ["port_forwarding"],
      floating_ips: 0,
      handle_internal_only_routers: true,
      interface_driver: "openvswitch",
      interfaces: 0,
      routers: 0,
    },
  },
  {
    type: "Metadata agent",
    binary: "neutron-metadata-agent",
    topic: "N/A",
    prefix: "3e7a0003",
    hasZone: false,
    configurations: { metadata_proxy_socket: "/var/run/metadata_proxy" },
  },
  {
    type: "Metering agent",
    binary: "neutron-metering-agent",
    topic: "metering_agent",
    prefix: "3e7e0004",
    hasZone: false,
    configurations: { measure_interval: 30, report_interval: 300 },
  },
];

/** Reads services in the order of their ids up to the first match: `min(id)` would read all. */
const FIRST_HOST = "SELECT id FROM services WHERE +binary = 'nova-compute' AND +deleted = 0 ORDER BY id LIMIT 1";

/** Row ids of services stay below. */
const FIRST_ROW_ID = 1_000_000_000;

function selectHostAgent(agent: HostAgent, index: number): string {
  const id = `CAST('${agent.prefix}' || substr(service.uuid, 9) AS TEXT)`;
  const zone = agent.hasZone ? "(SELECT availability_zone FROM network_agent_defaults)" : "CAST(NULL AS TEXT)";
  return `SELECT CAST(${FIRST_ROW_ID + index} AS INTEGER) AS rowid, ${id} AS id, service.host AS host,
    '${agent.type}' AS agent_type, '${agent.binary}' AS binary, '${agent.topic}' AS topic,
    ${zone} AS availability_zone, ${settingsOf(id)}, ${TIMES},
    '${JSON.stringify(agent.configurations)}' AS configurations
    FROM services AS service
    WHERE service.id = (${FIRST_HOST}) AND ${isKnown(id)}`;
}

/** A time as responses about agents have it: `2026-11-28 18:04:36`. */
const time: NetworkType<number> = {
  column: "integer",
  render: (value: never) => new Date(value).toISOString().slice(0, 19).replace("T", " "),
};

/**
 * The columns of all parts have the same affinity: SQLite then uses the indexes of the services for conditions on the view.
 */
const ALL_AGENTS = [OPEN_VSWITCH, ...HOST_AGENTS.map(selectHostAgent)].join(" UNION ALL ");

/**
 * Agents of the hosts: an Open vSwitch agent of each, and the other kinds of the first. They follow from the services of
 * Compute, so that a heartbeat is written once.
 */
export const AGENTS = defineResource({
  collection: "agents",
  singular: "agent",
  path: "/v2.0/agents",
  extension: "agent",
  table: "network_agents",
  view: ALL_AGENTS,
  attributes: {
    id: { ...ID.id, sort: false },
    agent_type: { type: text, filter: true },
    binary: { type: text, filter: true },
    topic: { type: text, filter: true },
    host: { type: text, filter: true },
    admin_state_up: { type: boolean, put: true, filter: true },
    created_at: { type: time },
    started_at: { type: time },
    heartbeat_timestamp: { type: time },
    alive: { type: flag, stored: false, filter: true },
    configurations: { type: json<Readonly<Record<string, Json>>>() },
    description: { type: stringOrNull(255), put: true, filter: true },
    resources_synced: { type: flag, extension: "agent-resources-synced" },
    availability_zone: { type: textOrNull, filter: true, extension: "availability_zone" },
    /** Compute was told to treat the host as down. */
    forced_down: { type: flag, visible: false },
  },
  notFound: { type: "AgentNotFound" },
  operations: ["list", "show", "update", "delete"],
  isPaged: false,
});

/** Availability zones of networks and of routers: those of the agents that serve them. */
export const AVAILABILITY_ZONES = defineResource({
  collection: "availability_zones",
  singular: "availability_zone",
  path: "/v2.0/availability_zones",
  extension: "availability_zone",
  table: "network_availability_zones",
  view: `SELECT min(rowid) AS rowid, min(id) AS id, availability_zone AS name,
    CASE agent_type WHEN 'L3 agent' THEN 'router' ELSE 'network' END AS resource,
    CASE max(admin_state_up) WHEN 1 THEN 'available' ELSE 'unavailable' END AS state
    FROM network_agents WHERE availability_zone IS NOT NULL GROUP BY availability_zone, agent_type`,
  attributes: {
    name: { type: text, filter: true },
    resource: { type: text, filter: true },
    state: { type: text, filter: true },
    id: { type: string(), visible: false },
  },
  notFound: { type: "AvailabilityZoneNotFound" },
  unfiltered: ["name", "resource", "state"],
  operations: ["list"],
  isPaged: false,
});
