import type { Sql, SqlRow } from "../database/sql.js";
import type { NetworkContext } from "./engine/network-context.js";
import { addressKey, formatAddress } from "./ip/addresses.js";
import { PORT_BINDINGS, PORTS } from "./resources/ports.js";
import { SECURITY_GROUP_RULES, SECURITY_GROUPS } from "./resources/security-groups.js";
import { FLAT_NETWORK } from "./start-networks.js";

/** Tables of the time when all servers shared one flat network. */
const FORMER_TABLES = ["flat_ports", "flat_security_group_rules", "flat_security_groups"];

/**
 * Returns whether an older program with one flat network wrote the state file: it has ports, groups or servers in the
 * former tables.
 */
export function hasFlatNetwork(sql: Sql): boolean {
  return (
    hasFormerTables(sql) &&
    [...FORMER_TABLES, "instances"].some((table) => sql.get(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined)
  );
}

/**
 * Moves ports and security groups of the former tables to the flat start network, which must exist. Ids, addresses,
 * bindings and tags stay. The former tables go. Callers run it in a transaction.
 */
export function migrateFlatNetwork(context: NetworkContext): void {
  const { sql } = context;
  if (!hasFormerTables(sql)) {
    return;
  }
  moveGroups(context);
  moveRules(context);
  movePorts(context);
  for (const table of FORMER_TABLES) {
    sql.run(`DROP TABLE ${table}`);
  }
}

function hasFormerTables(sql: Sql): boolean {
  return sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'flat_ports'") !== undefined;
}

function moveGroups(context: NetworkContext): void {
  const rows = context.sql.all(
    `SELECT uuid, project_id, name, description, stateful, revision, created_at, updated_at
      FROM flat_security_groups ORDER BY id`,
  );
  for (const [id, project, name, description, stateful, revision, createdAt, updatedAt] of rows) {
    context.table(SECURITY_GROUPS).insert({
      id: String(id),
      project_id: String(project),
      name: String(name),
      description: String(description),
      stateful: stateful === 1,
      default_of: name === "default" ? String(project) : null,
      revision_number: Number(revision),
      created_at: Number(createdAt),
      updated_at: Number(updatedAt),
    });
  }
}

function moveRules(context: NetworkContext): void {
  const rows = context.sql.all(
    `SELECT rule.uuid, group_uuid, rule.project_id, direction, ethertype, protocol, port_min, port_max, remote_prefix,
        remote_group, rule.description, rule.created_at, owner.name
      FROM flat_security_group_rules AS rule JOIN flat_security_groups AS owner ON owner.uuid = group_uuid
      ORDER BY rule.id`,
  );
  for (const row of rows) {
    const [id, group, project, direction, ethertype, protocol, min, max, prefix, remote, description, created, name] =
      row;
    context.table(SECURITY_GROUP_RULES).insert({
      id: String(id),
      security_group_id: String(group),
      project_id: String(project),
      direction: direction === "egress" ? "egress" : "ingress",
      ethertype: ethertype === "IPv6" ? "IPv6" : "IPv4",
      protocol: textOrNull(protocol),
      port_range_min: min === null ? null : Number(min),
      port_range_max: max === null ? null : Number(max),
      remote_ip_prefix: textOrNull(prefix),
      normalized_cidr: textOrNull(prefix),
      remote_group_id: textOrNull(remote),
      remote_address_group_id: null,
      belongs_to_default_sg: name === "default",
      description: String(description),
      revision_number: 0,
      created_at: Number(created),
      updated_at: Number(created),
    });
  }
}

function movePorts(context: NetworkContext): void {
  const rows = context.sql.all(
    `SELECT flat_ports.uuid, flat_ports.project_id, name, description, address, mac, device_id, device_owner,
        admin_state_up, security_groups, plugged_on, made_for_device, tag, revision, flat_ports.created_at,
        flat_ports.updated_at, instances.host
      FROM flat_ports LEFT JOIN instances ON instances.uuid = device_id AND instances.deleted = 0 ORDER BY flat_ports.id`,
  );
  for (const row of rows) {
    movePort(context, row);
  }
}

function movePort(context: NetworkContext, row: SqlRow): void {
  const { sql } = context;
  const [id, project, name, description, address, mac, device, owner, up, groups, plugged, made, tag, ...rest] = row;
  const [revision, createdAt, updatedAt, host] = rest;
  const pluggedOn: readonly string[] = JSON.parse(String(plugged));
  context.table(PORTS).insert({
    ...UNUSED_ATTRIBUTES,
    id: String(id),
    project_id: String(project),
    network_id: FLAT_NETWORK.id,
    name: String(name),
    description: String(description),
    mac_address: String(mac),
    device_id: String(device),
    device_owner: String(owner),
    admin_state_up: up === 1,
    status: typeof host === "string" && pluggedOn.includes(host) ? "ACTIVE" : "DOWN",
    made_for_server: made === 1,
    device_tag: textOrNull(tag),
    revision_number: Number(revision),
    created_at: Number(createdAt),
    updated_at: Number(updatedAt),
  });
  const fixed = { version: 4, value: BigInt(Number(address)) } as const;
  sql.run(
    "INSERT INTO network_ip_allocations (port_id, subnet_id, network_id, address, address_key) VALUES (?, ?, ?, ?, ?)",
    String(id),
    FLAT_NETWORK.subnetId,
    FLAT_NETWORK.id,
    formatAddress(fixed),
    addressKey(fixed),
  );
  for (const group of JSON.parse(String(groups)) as readonly string[]) {
    sql.run("INSERT OR IGNORE INTO network_port_security_groups VALUES (?, ?)", String(id), group);
  }
  moveBindings(context, String(id), textOrNull(host), pluggedOn);
}

/** A port was bound to its server's host, and plugged there and on the destination of a move. */
function moveBindings(
  context: NetworkContext,
  portId: string,
  host: string | null,
  pluggedOn: readonly string[],
): void {
  const destinations = pluggedOn.filter((one) => one !== host);
  for (const [index, one] of [host ?? "", ...destinations].entries()) {
    context.table(PORT_BINDINGS).insert({
      id: context.services.random.uuid(),
      port_id: portId,
      host: one,
      vif_type: one === "" ? "unbound" : "ovs",
      vnic_type: "normal",
      status: index === 0 ? "ACTIVE" : "INACTIVE",
      profile: {},
      vif_details:
        one === "" ? {} : { connectivity: "l2", port_filter: true, datapath_type: "system", bridge_name: "br-int" },
      is_plugged: pluggedOn.includes(one),
    });
  }
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** Attributes that the ports of the flat network did not have, with Neutron's defaults. */
const UNUSED_ATTRIBUTES = {
  port_security_enabled: true,
  qos_policy_id: null,
  propagate_uplink_status: true,
  allowed_address_pairs: [],
  extra_dhcp_opts: [],
  dns_name: "",
  dns_domain: "",
  ip_allocation: "immediate",
  device_profile: null,
  numa_affinity_policy: null,
  data_plane_status: null,
} as const;
