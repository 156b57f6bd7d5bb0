import type { Sql } from "../database/sql.js";
import { createResourceTables } from "../resources/resource-table.js";
import { CREATED_ONCE_TABLE } from "./engine/create-once.js";
import { TAGS_SQL } from "./engine/tags.js";
import { LOGS_SQL } from "./logs.js";
import { NETWORK_RESOURCES } from "./network-resources.js";
import { PORT_ALLOCATIONS_TABLE } from "./ports/port-allocations.js";
import { AGENT_TABLES } from "./resources/agents.js";
import { SUBPORTS_SQL } from "./trunk/subports.js";

/**
 * Tables without a resource of their own. An address belongs to one port of a subnet; the database holds this under
 * concurrency and after a kill.
 */
const MORE_TABLES = [
  `CREATE TABLE IF NOT EXISTS network_ip_allocations (
    port_id TEXT NOT NULL REFERENCES network_ports (id) ON DELETE CASCADE,
    subnet_id TEXT NOT NULL REFERENCES network_subnets (id),
    network_id TEXT NOT NULL,
    address TEXT NOT NULL,
    address_key TEXT NOT NULL,
    PRIMARY KEY (subnet_id, address_key)
  ) STRICT`,
  "CREATE INDEX IF NOT EXISTS network_ip_allocations_by_port ON network_ip_allocations (port_id)",
  "CREATE INDEX IF NOT EXISTS network_ip_allocations_by_address ON network_ip_allocations (address)",
  `CREATE TABLE IF NOT EXISTS network_port_security_groups (
    port_id TEXT NOT NULL REFERENCES network_ports (id) ON DELETE CASCADE,
    security_group_id TEXT NOT NULL REFERENCES network_security_groups (id),
    PRIMARY KEY (port_id, security_group_id)
  ) STRICT`,
  "CREATE INDEX IF NOT EXISTS network_port_security_groups_by_group ON network_port_security_groups (security_group_id)",
  "CREATE UNIQUE INDEX IF NOT EXISTS network_port_bindings_active ON network_port_bindings (port_id) WHERE status = 'ACTIVE'",
  PORT_ALLOCATIONS_TABLE,
  CREATED_ONCE_TABLE,
  ...TAGS_SQL,
  // Ids of the records that the cluster file declares.
  "CREATE TABLE IF NOT EXISTS network_from_file (id TEXT PRIMARY KEY) STRICT",
  ...SUBPORTS_SQL,
  ...LOGS_SQL,
  ...AGENT_TABLES,
];

/** Creates the tables of the Network service, or adds what is missing. */
export function createNetworkTables(sql: Sql): void {
  createResourceTables(
    sql,
    "network",
    NETWORK_RESOURCES.map(({ resource }) => resource),
    MORE_TABLES,
  );
}
