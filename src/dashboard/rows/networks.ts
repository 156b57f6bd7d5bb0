import type { SqlRow } from "../../control-plane/database/sql.js";
import type { Store } from "../../control-plane/store/store.js";
import type { BindingRow, NetworkRow, PortRow, RouterRow, SubnetRow } from "../wire/rows.js";

type NetworkKind = "network" | "router" | "port";

/** Ports read at a time. */
const PAGE = 200;

const CHANGES = "dashboard_network_changes";

/** The rows that a change of a table concerns: the kind, and the column with the key. */
const WATCHED: readonly (readonly [table: string, kind: NetworkKind, column: string])[] = [
  ["network_networks", "network", "id"],
  ["network_subnets", "network", "network_id"],
  ["network_segments", "network", "network_id"],
  ["network_rbac_policies", "network", "object_id"],
  ["network_routers", "router", "id"],
  ["network_ports", "router", "device_id"],
  ["network_ports", "port", "id"],
  ["network_port_bindings", "port", "port_id"],
  ["network_ip_allocations", "port", "port_id"],
  ["network_floatingips", "port", "port_id"],
];

const PORTS = `SELECT port.rowid, id, name, network_id, mac_address, admin_state_up, status, device_id, device_owner,
  (SELECT json_group_array(address) FROM network_ip_allocations WHERE port_id = port.id),
  (SELECT json_group_array(floating_ip_address) FROM network_floatingips WHERE port_id = port.id),
  (SELECT json_group_array(json_object('host', host, 'vifType', vif_type, 'active', status = 'ACTIVE'))
    FROM network_port_bindings WHERE port_id = port.id AND host <> '')
  FROM network_ports AS port`;

/**
 * The networks, routers and ports of the embedded Network service. Its records are not among the changes of the store, so
 * temporary triggers note them while a viewer is connected; without one they cost nothing.
 */
export class Networks {
  readonly #sql: Store["database"];

  constructor({ database }: Pick<Store, "database">) {
    this.#sql = database;
  }

  /** Begins to note changes. */
  begin(): void {
    this.end();
    const triggers = WATCHED.flatMap(([table, kind, column], index) => {
      const note = (record: string) => `INSERT INTO ${CHANGES} VALUES ('${kind}', ${record}.${column});`;
      const on = (event: string, body: string) =>
        `CREATE TEMP TRIGGER ${CHANGES}_${index}_${event} AFTER ${event} ON main.${table} BEGIN ${body} END`;
      return [on("INSERT", note("NEW")), on("DELETE", note("OLD")), on("UPDATE", `${note("OLD")} ${note("NEW")}`)];
    });
    this.#sql.file.exec(triggers.join("; "));
  }

  /** Ends it. The table remains, because SQLite drops no table while any statement has rows to read. */
  end(): void {
    const triggers = WATCHED.flatMap((_table, index) =>
      ["INSERT", "DELETE", "UPDATE"].map((event) => `DROP TRIGGER IF EXISTS temp.${CHANGES}_${index}_${event}`),
    );
    const table = `CREATE TEMP TABLE IF NOT EXISTS ${CHANGES} (kind TEXT, id TEXT)`;
    this.#sql.file.exec([...triggers, table, `DELETE FROM temp.${CHANGES}`].join("; "));
  }

  /** Returns the rows that may have changed since the last call. */
  takeChanges(): readonly { readonly kind: NetworkKind; readonly key: string }[] {
    const changes = this.#sql.all(`SELECT DISTINCT kind, id FROM temp.${CHANGES} WHERE id IS NOT NULL AND id <> ''`);
    if (changes.length > 0) {
      this.#sql.run(`DELETE FROM temp.${CHANGES}`);
    }
    return changes.map(([kind, id]) => ({ kind: kind as NetworkKind, key: String(id) }));
  }

  *networks(): Generator<NetworkRow> {
    for (const id of this.#sql.strings("SELECT id FROM network_networks ORDER BY rowid")) {
      const row = this.network(id);
      if (row !== undefined) {
        yield row;
      }
    }
  }

  *routers(): Generator<RouterRow> {
    for (const id of this.#sql.strings("SELECT id FROM network_routers ORDER BY rowid")) {
      const row = this.router(id);
      if (row !== undefined) {
        yield row;
      }
    }
  }

  *ports(): Generator<PortRow> {
    for (let after = 0; ; ) {
      const rows = this.#sql.all(`${PORTS} WHERE port.rowid > ? ORDER BY port.rowid LIMIT ${PAGE}`, after);
      yield* rows.map(portRow);
      const last = rows.at(-1);
      if (last === undefined) {
        return;
      }
      after = Number(last[0]);
    }
  }

  network(id: string): NetworkRow | undefined {
    const found = this.#sql.get(
      `SELECT name, project_id, status, admin_state_up, mtu, router_external,
        EXISTS (SELECT 1 FROM network_rbac_policies WHERE object_type = 'network' AND object_id = network.id
          AND action = 'access_as_shared' AND target_tenant = '*')
        FROM network_networks AS network WHERE id = ?`,
      id,
    );
    if (found === undefined) {
      return undefined;
    }
    const [name, projectId, status, isUp, mtu, isExternal, isShared] = found;
    return {
      uuid: id,
      name: String(name),
      projectId: String(projectId),
      status: String(status),
      adminUp: isUp === 1,
      mtu: Number(mtu),
      external: isExternal === 1,
      shared: isShared === 1,
      segments: this.#segments(id),
      subnets: this.#subnets(id),
    };
  }

  #segments(networkId: string): readonly string[] {
    return this.#sql
      .all(
        `SELECT network_type, physical_network, segmentation_id FROM network_segments WHERE network_id = ?
          ORDER BY segment_index`,
        networkId,
      )
      .map((parts) => parts.filter((part) => part !== null).join(" "));
  }

  #subnets(networkId: string): readonly SubnetRow[] {
    return this.#sql
      .all(
        "SELECT id, name, cidr, gateway_ip, enable_dhcp FROM network_subnets WHERE network_id = ? ORDER BY rowid",
        networkId,
      )
      .map(([uuid, name, cidr, gateway, dhcp]) => ({
        uuid: String(uuid),
        name: String(name),
        cidr: String(cidr),
        gateway: gateway === null || gateway === undefined ? null : String(gateway),
        dhcp: dhcp === 1,
      }));
  }

  router(id: string): RouterRow | undefined {
    const found = this.#sql.get(
      "SELECT name, project_id, status, admin_state_up FROM network_routers WHERE id = ?",
      id,
    );
    if (found === undefined) {
      return undefined;
    }
    const [name, projectId, status, isUp] = found;
    const ports = this.#sql
      .all(
        `SELECT port.network_id, device_owner, address FROM network_ports AS port
          LEFT JOIN network_ip_allocations ON port_id = port.id WHERE device_id = ? ORDER BY port.rowid`,
        id,
      )
      .map(([network, owner, address]) => ({
        network: String(network),
        isGateway: owner === "network:router_gateway",
        address: String(address ?? ""),
      }));
    const toEnd = ({ network, address }: (typeof ports)[number]) => ({ network, address });
    return {
      uuid: id,
      name: String(name),
      projectId: String(projectId),
      status: String(status),
      adminUp: isUp === 1,
      gateways: ports.filter(({ isGateway }) => isGateway).map(toEnd),
      interfaces: ports.filter(({ isGateway }) => !isGateway).map(toEnd),
    };
  }

  port(id: string): PortRow | undefined {
    const row = this.#sql.get(`${PORTS} WHERE port.id = ?`, id);
    return row && portRow(row);
  }
}

function portRow(row: SqlRow): PortRow {
  const [, id, name, network, mac, isUp, status, device, owner, addresses, floatingIps, bindings] = row;
  const ofServer = String(owner).startsWith("compute:");
  const listed = JSON.parse(String(bindings)) as readonly (Omit<BindingRow, "active"> & { readonly active: 0 | 1 })[];
  return {
    uuid: String(id),
    name: String(name),
    network: String(network),
    mac: String(mac),
    adminUp: isUp === 1,
    status: String(status),
    server: ofServer && device !== "" ? String(device) : null,
    owner: String(owner),
    device: String(device),
    addresses: JSON.parse(String(addresses)) as readonly string[],
    floatingIps: JSON.parse(String(floatingIps)) as readonly string[],
    bindings: listed.map((binding) => ({ ...binding, active: binding.active === 1 })),
  };
}
