import { flag, id, integer, listOf, nullable, type RecordOf, text, time, uuid } from "../../records/field.js";
import { addressOf, addressText, isInPool, macOf, POOL } from "./network-settings.js";
import type { StoreContext } from "./store-context.js";
import {
  InvalidIpForNetwork,
  IpAddressGenerationFailure,
  IpAddressInUse,
  PortInUse,
  PortNotFound,
} from "./store-errors.js";
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
  /** Uuid of the server; empty: nothing has it. */
  deviceId: text(),
  deviceOwner: text(),
  adminStateUp: flag,
  /** Uuids. */
  securityGroups: listOf(uuid),
  /** Hosts on which it is connected to the network: while a server moves, there may be two. */
  pluggedOn: listOf(text()),
  /** It goes with its server; others, which a user made, stay. */
  madeForDevice: flag,
  /** What the user calls the device in the guest. */
  tag: nullable(text()),
  revision: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
  updatedAt: time,
};

/** As a port is read: with the host of its server. */
const BOUND_PORT = { ...PORT, host: nullable(text()) };

export type Port = RecordOf<typeof BOUND_PORT>;

type PortAttributes = Pick<Port, "projectId" | "name" | "description" | "adminStateUp" | "securityGroups"> &
  Pick<Port, "deviceId" | "deviceOwner" | "madeForDevice" | "tag">;

/** A port that is asked for with a server: one that is there, or a new one. */
export interface RequestedPort {
  /** Uuid of a port that a user has made. */
  readonly port?: string;
  /** `10.0.0.7`; absent: any. */
  readonly address?: string;
  readonly tag?: string;
}

const PORTS = tableOf("ports", PORT);
const BOUND_PORTS = tableOf("bound_ports", BOUND_PORT);

/**
 * Table `ports`: each has one address of the flat subnet. Where a port is bound is where its server is: no write moves it. It
 * goes, or is free again, in the write that deletes the server's row.
 */
export class Ports {
  readonly #context: StoreContext;
  readonly #rows: Table<Omit<Port, "host">>;
  readonly #ports: Table<Port>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#rows = new Table(context.sql, PORTS);
    this.#ports = new Table(context.sql, BOUND_PORTS);
  }

  get(uuid: string): Port | null {
    return this.#ports.one("uuid = ?", uuid);
  }

  /** A server's, the first one first. */
  ofDevice(deviceId: string): readonly Port[] {
    return this.#ports.many("device_id = ? ORDER BY id", deviceId);
  }

  /** Lists the ports of many servers, each server's first one first. */
  ofDevices(deviceIds: readonly string[]): readonly Port[] {
    return this.#ports.many("device_id IN (SELECT value FROM json_each(?)) ORDER BY id", JSON.stringify(deviceIds));
  }

  /** @param projectId absent: of all projects */
  list(projectId?: string): readonly Port[] {
    return projectId === undefined
      ? this.#ports.many("1 ORDER BY id")
      : this.#ports.many("project_id = ? ORDER BY id", projectId);
  }

  count(projectId: string): number {
    const [count] = this.#context.sql.get("SELECT count(*) FROM ports WHERE project_id = ?", projectId) ?? [];
    return Number(count);
  }

  /** Counts the ports that will be made for servers of the project that are requested and not yet placed. */
  countReserved(projectId: string): number {
    const [count] =
      this.#context.sql.get(
        `SELECT count(*) FROM build_requests AS request
         JOIN tasks ON json_extract(task, '$.instanceUuid') = request.instance_uuid,
         json_each(task, '$.ports') AS requested
         WHERE request.project_id = ? AND json_extract(task, '$.kind') = 'build_instances'
         AND json_extract(requested.value, '$.port') IS NULL`,
        projectId,
      ) ?? [];
    return Number(count);
  }

  countAll(): number {
    const [count] = this.#context.sql.get("SELECT count(*) FROM ports") ?? [];
    return Number(count);
  }

  /** Undefined: no port has the address. */
  withAddress(address: number): Port | undefined {
    return this.#ports.one("address = ?", address) ?? undefined;
  }

  /**
   * Gives a server the ports that it was asked to have, in the transaction of the write that makes its row.
   * @throws {PortNotFound} {@link PortInUse} {@link InvalidIpForNetwork} {@link IpAddressInUse}
   *   {@link IpAddressGenerationFailure}
   */
  addToServer(
    server: { readonly uuid: string; readonly projectId: string },
    requestedPorts: readonly RequestedPort[],
    securityGroups: readonly string[],
  ): readonly Port[] {
    const owner = { deviceId: server.uuid, deviceOwner: SERVER_OWNER };
    return this.#context.sql.transaction(() =>
      requestedPorts.map(({ port, address, tag = null }) => {
        if (port !== undefined) {
          return this.#attach(port, { ...owner, tag });
        }
        const plain = { name: "", description: "", adminStateUp: true, madeForDevice: true };
        return this.create({ ...plain, ...owner, tag, projectId: server.projectId, securityGroups }, address);
      }),
    );
  }

  /** Undefined: no port has the MAC address. */
  withMac(mac: string): Port | undefined {
    return this.#ports.one("mac = ?", mac) ?? undefined;
  }

  /**
   * @param mac absent: one that no port has
   * @throws {InvalidIpForNetwork} {@link IpAddressInUse} {@link IpAddressGenerationFailure}
   */
  create(attributes: PortAttributes, requestedAddress?: string, mac?: string): Port {
    const { sql, clock, random } = this.#context;
    return sql.transaction(() => {
      const address = requestedAddress === undefined ? this.#nextAddress() : this.#validateAddress(requestedAddress);
      const now = clock.now();
      const times = { revision: 1, createdAt: now, updatedAt: now };
      const port = {
        ...attributes,
        ...times,
        uuid: random.uuid(),
        address,
        mac: mac ?? this.#freeMac(address),
        pluggedOn: [],
      };
      this.#rows.insert(port);
      return this.#existing(port.uuid);
    });
  }

  update(
    uuid: string,
    changes: Partial<Pick<Port, "name" | "description" | "adminStateUp" | "securityGroups" | "pluggedOn">> &
      Partial<Pick<Port, "deviceId" | "deviceOwner" | "tag" | "mac">>,
  ): Port {
    return this.#context.sql.transaction(() => {
      const { id, revision } = this.#existing(uuid);
      this.#rows.update(id, { ...changes, revision: revision + 1, updatedAt: this.#context.clock.now() });
      return this.#existing(uuid);
    });
  }

  /** Takes the port from its server: one that was made for it goes. */
  detach({ uuid, madeForDevice }: Port): void {
    if (madeForDevice) {
      this.destroy(uuid);
    } else {
      this.update(uuid, { deviceId: "", deviceOwner: "", pluggedOn: [], tag: null });
    }
  }

  destroy(uuid: string): void {
    this.#context.sql.execute("DELETE FROM ports WHERE uuid = ?", uuid);
  }

  #attach(uuid: string, changes: Pick<Port, "deviceId" | "deviceOwner" | "tag">): Port {
    const { deviceId } = this.#existing(uuid);
    if (deviceId !== "") {
      throw new PortInUse(`Port ${uuid} is still in use.`, { uuid });
    }
    return this.update(uuid, { ...changes, pluggedOn: [] });
  }

  #existing(uuid: string): Port {
    const port = this.get(uuid);
    if (!port) {
      throw new PortNotFound(`Port ${uuid} could not be found.`, { uuid });
    }
    return port;
  }

  /** The MAC of the address, unless somebody gave it to another port. */
  #freeMac(address: number): string {
    let mac = macOf(address);
    while (this.withMac(mac)) {
      mac = `fa:16:3e:${this.#context.random.hex(3).replace(/..(?!$)/g, "$&:")}`;
    }
    return mac;
  }

  #validateAddress(text: string): number {
    const address = addressOf(text);
    if (address === undefined || !isInPool(address)) {
      const expected = `expected one from ${addressText(POOL.first)} to ${addressText(POOL.last)}`;
      throw new InvalidIpForNetwork(`IP address ${text} is not a valid IP for the flat network: ${expected}.`);
    }
    if (this.withAddress(address)) {
      throw new IpAddressInUse(`IP address ${text} already allocated in the flat network.`, { address: text });
    }
    return address;
  }

  /** The next one after the one that was given last, so that an address rests before it comes again; in one look, mostly. */
  #nextAddress(): number {
    const { sql } = this.#context;
    const [next] = sql.get("SELECT address FROM next_address") ?? [];
    const from = next === undefined ? POOL.first : Number(next);
    const address = this.#freeFrom(from) ?? this.#freeFrom(POOL.first);
    if (address === undefined) {
      throw new IpAddressGenerationFailure("No more IP addresses available on the flat network.");
    }
    const after = address === POOL.last ? POOL.first : address + 1;
    sql.execute(
      next === undefined ? "INSERT INTO next_address VALUES (?)" : "UPDATE next_address SET address = ?",
      after,
    );
    return address;
  }

  #freeFrom(from: number): number | undefined {
    const { sql } = this.#context;
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

/** What Nova writes in ports of servers, with the availability zone in which they were made. */
const SERVER_OWNER = "compute:nova";
