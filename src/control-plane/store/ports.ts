import { ConductorError } from "../../conductor-client/errors.js";
import { flag, id, integer, listOf, nullable, type RecordOf, text, time, uuid } from "../../records/field.js";
import { addressOf, addressText, isInPool, macOf, POOL } from "./network-settings.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const PORT = {
  id,
  uuid,
  projectId: text(),
  name: text(),
  description: text(),
  /** The IPv4 address as a number. */
  address: integer(POOL.first, POOL.last),
  mac: text(),
  /** The uuid of the server; empty: not attached. */
  deviceId: text(),
  deviceOwner: text(),
  adminStateUp: flag,
  /** Uuids. */
  securityGroups: listOf(uuid),
  /** The hosts on which the port is plugged; there may be two while a server moves. */
  pluggedOn: listOf(text()),
  /** Whether the port is deleted with its server; ports created by users remain. */
  madeForDevice: flag,
  /** The user's name for the device in the guest. */
  tag: nullable(text()),
  revision: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
  updatedAt: time,
};

/** A port with the host of its server. */
const BOUND_PORT = { ...PORT, host: nullable(text()) };

export type Port = RecordOf<typeof BOUND_PORT>;

type PortAttributes = Pick<Port, "projectId" | "name" | "description" | "adminStateUp" | "securityGroups"> &
  Pick<Port, "deviceId" | "deviceOwner" | "madeForDevice" | "tag">;

/** A port requested for a server: an existing or a new one. */
export interface RequestedPort {
  /** The uuid of a port that a user created. */
  readonly port?: string;
  /** `10.0.0.7`; absent: any. */
  readonly address?: string;
  readonly tag?: string;
}

const PORTS = tableOf("ports", PORT);
const BOUND_PORTS = tableOf("bound_ports", BOUND_PORT);

/**
 * Table `ports`. Each port has one address of the flat subnet. Its host is that of its server, so no separate write
 * changes it.
 * The write that deletes the server's row also deletes or detaches the port.
 */
export function createPortTable({ sql, clock, random }: StoreContext) {
  const rows = new Table(sql, PORTS);
  const ports = new Table(sql, BOUND_PORTS);

  return {
    get,
    /** Returns the ports of a server in the order of their creation. */
    ofDevice: (deviceId: string): readonly Port[] => ports.many("device_id = ? ORDER BY id", deviceId),
    /** Returns the ports of several servers in the order of their creation. */
    ofDevices: (deviceIds: readonly string[]): readonly Port[] =>
      ports.many("device_id IN (SELECT value FROM json_each(?)) ORDER BY id", JSON.stringify(deviceIds)),
    /** @param projectId absent: all projects */
    list: (projectId?: string): readonly Port[] =>
      projectId === undefined ? ports.many("1 ORDER BY id") : ports.many("project_id = ? ORDER BY id", projectId),
    count: (projectId: string): number => sql.number("SELECT count(*) FROM ports WHERE project_id = ?", projectId),
    /** Counts the ports that will be created for requested, unscheduled servers of the project. */
    countReserved: (projectId: string): number =>
      sql.number(
        `SELECT count(*) FROM build_requests AS request
          JOIN tasks ON json_extract(task, '$.instanceUuid') = request.instance_uuid,
          json_each(task, '$.ports') AS requested
          WHERE request.project_id = ? AND json_extract(task, '$.kind') = 'build_instances'
          AND json_extract(requested.value, '$.port') IS NULL`,
        projectId,
      ),
    countAll: (): number => sql.number("SELECT count(*) FROM ports"),
    withAddress,
    /**
     * Attaches or creates the requested ports of a server, in the transaction that creates its row.
     * @throws {PortNotFound} PortInUse InvalidIpForNetwork IpAddressAlreadyAllocated
     * IpAddressGenerationFailure
     */
    addToServer(
      server: { readonly uuid: string; readonly projectId: string },
      requestedPorts: readonly RequestedPort[],
      securityGroups: readonly string[],
    ): readonly Port[] {
      const owner = { deviceId: server.uuid, deviceOwner: SERVER_OWNER };
      return sql.transaction(() =>
        requestedPorts.map(({ port, address, tag = null }) => {
          if (port !== undefined) {
            return attach(port, { ...owner, tag });
          }
          const plain = { name: "", description: "", adminStateUp: true, madeForDevice: true };
          return create({ ...plain, ...owner, tag, projectId: server.projectId, securityGroups }, address);
        }),
      );
    },
    withMac,
    create,
    update,
    /** Detaches the port from its server; deletes it if it was created for the server. */
    detach({ uuid, madeForDevice }: Port): void {
      if (madeForDevice) {
        destroy(uuid);
      } else {
        update(uuid, { deviceId: "", deviceOwner: "", pluggedOn: [], tag: null });
      }
    },
    destroy,
  };

  function get(uuid: string): Port | null {
    return ports.one("uuid = ?", uuid);
  }

  /** Returns undefined if no port has the address. */
  function withAddress(address: number): Port | undefined {
    return ports.one("address = ?", address) ?? undefined;
  }

  /** Returns undefined if no port has the MAC address. */
  function withMac(mac: string): Port | undefined {
    return ports.one("mac = ?", mac) ?? undefined;
  }

  /**
   * @param mac absent: a generated one
   * @throws {InvalidIpForNetwork} IpAddressAlreadyAllocated IpAddressGenerationFailure
   */
  function create(attributes: PortAttributes, requestedAddress?: string, mac?: string): Port {
    return sql.transaction(() => {
      const address = requestedAddress === undefined ? nextAddress() : validateAddress(requestedAddress);
      const now = clock.now();
      const times = { revision: 1, createdAt: now, updatedAt: now };
      const port = {
        ...attributes,
        ...times,
        uuid: random.uuid(),
        address,
        mac: mac ?? freeMac(address),
        pluggedOn: [],
      };
      rows.insert(port);
      return existing(port.uuid);
    });
  }

  function update(
    uuid: string,
    changes: Partial<Pick<Port, "name" | "description" | "adminStateUp" | "securityGroups" | "pluggedOn">> &
      Partial<Pick<Port, "deviceId" | "deviceOwner" | "tag" | "mac">>,
  ): Port {
    return sql.transaction(() => {
      const { id, revision } = existing(uuid);
      rows.update(id, { ...changes, revision: revision + 1, updatedAt: clock.now() });
      return existing(uuid);
    });
  }

  function destroy(uuid: string): void {
    sql.execute("DELETE FROM ports WHERE uuid = ?", uuid);
  }

  function attach(uuid: string, changes: Pick<Port, "deviceId" | "deviceOwner" | "tag">): Port {
    const { deviceId } = existing(uuid);
    if (deviceId !== "") {
      throw new ConductorError("PortInUse", `Port ${uuid} is still in use.`, { uuid });
    }
    return update(uuid, { ...changes, pluggedOn: [] });
  }

  function existing(uuid: string): Port {
    const port = get(uuid);
    if (!port) {
      throw new ConductorError("PortNotFound", `Port ${uuid} could not be found.`, { uuid });
    }
    return port;
  }

  /** Returns the MAC derived from the address, or a random one if another port uses it. */
  function freeMac(address: number): string {
    let mac = macOf(address);
    while (withMac(mac)) {
      mac = `fa:16:3e:${random.hex(3).replace(/..(?!$)/g, "$&:")}`;
    }
    return mac;
  }

  function validateAddress(text: string): number {
    const address = addressOf(text);
    if (address === undefined || !isInPool(address)) {
      const expected = `expected one from ${addressText(POOL.first)} to ${addressText(POOL.last)}`;
      throw new ConductorError(
        "InvalidIpForNetwork",
        `IP address ${text} is not a valid IP for the flat network: ${expected}.`,
      );
    }
    if (withAddress(address)) {
      throw new ConductorError(
        "IpAddressAlreadyAllocated",
        `IP address ${text} already allocated in the flat network.`,
        { address: text },
      );
    }
    return address;
  }

  /**
   * Returns the next free address after the last one that was allocated, so that a released address is not reused soon.
   * Usually one query.
   */
  function nextAddress(): number {
    const [next] = sql.get("SELECT address FROM next_address") ?? [];
    const from = next === undefined ? POOL.first : Number(next);
    const address = freeFrom(from) ?? freeFrom(POOL.first);
    if (address === undefined) {
      throw new ConductorError("IpAddressGenerationFailure", "No more IP addresses available on the flat network.");
    }
    const after = address === POOL.last ? POOL.first : address + 1;
    sql.execute(
      next === undefined ? "INSERT INTO next_address VALUES (?)" : "UPDATE next_address SET address = ?",
      after,
    );
    return address;
  }

  function freeFrom(from: number): number | undefined {
    if (sql.get("SELECT 1 FROM ports WHERE address = ?", from) === undefined) {
      return from;
    }
    const [free] =
      sql.get(
        `SELECT address + 1 FROM ports AS taken WHERE address >= ? AND address < ?
          AND NOT EXISTS (SELECT 1 FROM ports AS next WHERE next.address = taken.address + 1) ORDER BY address LIMIT 1`,
        from,
        POOL.last,
      ) ?? [];
    return free === undefined ? undefined : Number(free);
  }
}

/** The device owner that Nova sets for ports of servers, including the default availability zone. */
const SERVER_OWNER = "compute:nova";
