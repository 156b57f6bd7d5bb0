import { boolean, ID, stringOrNull, textOrNull, uuid } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const AGENTS = defineResource({
  collection: "agents",
  singular: "agent",
  path: "/v2.0/agents",
  extension: "agent",
  table: "network_agents",
  attributes: {
    ...ID,
    agent_type: { type: textOrNull, filter: true },
    binary: { type: textOrNull, filter: true },
    topic: { type: textOrNull, filter: true },
    host: { type: textOrNull, filter: true },
    admin_state_up: { type: boolean, put: true, filter: true },
    created_at: { type: textOrNull },
    started_at: { type: textOrNull },
    heartbeat_timestamp: { type: textOrNull },
    description: { type: stringOrNull(255), put: true, filter: true },
    resources_synced: { type: textOrNull },
    availability_zone: { type: textOrNull, filter: true },
    alive: { type: textOrNull, filter: true },
    configurations: { type: textOrNull },
  },
  notFound: { type: "AgentNotFound" },
});

/** TODO describe. */
export const DHCP_AGENTS = defineResource({
  collection: "agents",
  singular: "dhcp_agent",
  path: "/v2.0/networks/:network_id/dhcp-agents",
  extension: "dhcp_agent_scheduler",
  table: "network_dhcp_agents",
  attributes: {
    ...ID,
    network_id: { type: uuid, visible: false },
    admin_state_up: { type: boolean, put: true, filter: true },
    agent_type: { type: textOrNull, filter: true },
    alive: { type: textOrNull, filter: true },
    availability_zone: { type: textOrNull, filter: true },
    binary: { type: textOrNull, filter: true },
    configurations: { type: textOrNull },
    created_at: { type: textOrNull },
    description: { type: stringOrNull(255), put: true, filter: true },
    heartbeat_timestamp: { type: textOrNull },
    host: { type: textOrNull, filter: true },
    resources_synced: { type: textOrNull },
    started_at: { type: textOrNull },
    topic: { type: textOrNull, filter: true },
  },
  notFound: { type: "DhcpAgentNotFound" }, // not in errors.json: check
  parent: { collection: "networks", attribute: "network_id" },
});

/** TODO describe. */
export const DHCP_NETWORKS = defineResource({
  collection: "dhcp_networks",
  singular: "dhcp_network",
  path: "/v2.0/agents/:agent_id/dhcp-networks",
  extension: "dhcp_agent_scheduler",
  table: "network_dhcp_networks",
  attributes: {
    agent_id: { type: uuid, visible: false },
    network_id: { type: uuid, post: true, default: NOT_SPECIFIED, policy: true },
  },
  notFound: { type: "DhcpNetworkNotFound" }, // not in errors.json: check
  parent: { collection: "agents", attribute: "agent_id" },
});

/** TODO describe. */
export const AVAILABILITY_ZONES = defineResource({
  collection: "availability_zones",
  singular: "availability_zone",
  path: "/v2.0/availability_zones",
  extension: "availability_zone",
  table: "network_availability_zones",
  attributes: {
    state: { type: textOrNull, filter: true },
    name: { type: textOrNull, filter: true },
    resource: { type: textOrNull, filter: true },
  },
  notFound: { type: "AvailabilityZoneNotFound" },
});
