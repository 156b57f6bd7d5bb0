import type { Clock } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";
import { conflict, notFound } from "../http/http-error.js";
import { isoTime, type JsonObject } from "./node-store.js";

/** A network port of a node; `vif` is Nova's attachment. */
export interface IronicPort {
  readonly uuid: string;
  readonly address: string;
  readonly node_uuid: string;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly extra: JsonObject;
  readonly local_link_connection: JsonObject;
  readonly physical_network: string | null;
  readonly pxe_enabled: boolean;
  readonly is_smartnic: boolean | null;
  readonly vif: string | null;
}

/** Attributes that a client can set. */
export type PortChanges = Partial<Omit<IronicPort, "uuid" | "created_at" | "updated_at" | "vif">>;

/** Defaults of a new port; records of earlier releases lack some of them. */
const DEFAULTS: Omit<IronicPort, "uuid" | "address" | "node_uuid" | "created_at"> = {
  updated_at: null,
  extra: {},
  local_link_connection: {},
  physical_network: null,
  pxe_enabled: true,
  is_smartnic: false,
  vif: null,
};

const portNotFound = (port: string) => notFound(`Port ${port} could not be found.`);

/** All ports, stored like the nodes of {@link NodeStore}. */
export class PortStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #ports = new Map<string, IronicPort>();
  readonly #byNode = new Map<string, Set<string>>();
  /** Uuids of ports by address. */
  readonly #byAddress = new Map<string, string>();

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    for (const [record] of sql.all("SELECT record FROM ironic_ports ORDER BY id")) {
      this.#remember({ ...DEFAULTS, ...(JSON.parse(String(record)) as IronicPort) });
    }
  }

  /** Returns the ports in order of creation. */
  all(): IterableIterator<IronicPort> {
    return this.#ports.values();
  }

  /** Returns a node's ports in order of creation. */
  of(nodeUuid: string): IronicPort[] {
    return [...(this.#byNode.get(nodeUuid) ?? [])].flatMap((uuid) => this.#ports.get(uuid) ?? []);
  }

  /** @throws {HttpError} 404 */
  get(uuid: string): IronicPort {
    const port = this.#ports.get(uuid);
    if (!port) {
      throw portNotFound(uuid);
    }
    return port;
  }

  withAddress(address: string): IronicPort | undefined {
    return this.#ports.get(this.#byAddress.get(address) ?? "");
  }

  /** @throws {HttpError} 409 if the address or uuid is in use */
  create(
    attributes: Pick<IronicPort, "uuid" | "address"> & PortChanges,
    node: { readonly id: number; readonly uuid: string },
  ): IronicPort {
    if (this.#ports.has(attributes.uuid)) {
      throw conflict(`A port with UUID ${attributes.uuid} already exists.`);
    }
    this.#assertUnique(attributes.uuid, attributes.address);
    const port: IronicPort = {
      ...DEFAULTS,
      ...attributes,
      node_uuid: node.uuid,
      created_at: isoTime(this.#clock.now()),
    };
    this.#sql.run(
      "INSERT INTO ironic_ports (uuid, address, node_id, record) VALUES (?, ?, ?, ?)",
      port.uuid,
      port.address,
      node.id,
      JSON.stringify(port),
    );
    this.#remember(port);
    return port;
  }

  /** @param node the port's node after the change @throws {HttpError} 404, or 409 if the address is in use */
  save(uuid: string, changes: PortChanges, node: { readonly id: number; readonly uuid: string }): IronicPort {
    const before = this.get(uuid);
    this.#assertUnique(uuid, changes.address ?? before.address);
    const port = { ...before, ...changes, node_uuid: node.uuid, updated_at: isoTime(this.#clock.now()) };
    this.#sql.run(
      "UPDATE ironic_ports SET address = ?, node_id = ?, record = ? WHERE uuid = ?",
      port.address,
      node.id,
      JSON.stringify(port),
      uuid,
    );
    this.#byAddress.delete(before.address);
    if (before.node_uuid !== port.node_uuid) {
      this.#byNode.get(before.node_uuid)?.delete(uuid);
    }
    this.#remember(port);
    return port;
  }

  setVif(uuid: string, vif: string | null): void {
    const before = this.#ports.get(uuid);
    if (!before) {
      return;
    }
    const port = { ...before, vif };
    this.#sql.run("UPDATE ironic_ports SET record = ? WHERE uuid = ?", JSON.stringify(port), uuid);
    this.#ports.set(uuid, port);
  }

  remove(uuid: string): void {
    const { address, node_uuid: nodeUuid } = this.get(uuid);
    this.#sql.run("DELETE FROM ironic_ports WHERE uuid = ?", uuid);
    this.#ports.delete(uuid);
    this.#byAddress.delete(address);
    this.#byNode.get(nodeUuid)?.delete(uuid);
  }

  /** Removes a node's ports from memory; the database deletes their rows with the node's. */
  forgetNode(nodeUuid: string): void {
    for (const port of this.of(nodeUuid)) {
      this.#ports.delete(port.uuid);
      this.#byAddress.delete(port.address);
    }
    this.#byNode.delete(nodeUuid);
  }

  #assertUnique(uuid: string, address: string): void {
    if ((this.#byAddress.get(address) ?? uuid) !== uuid) {
      throw conflict(`A port with MAC address ${address} already exists.`);
    }
  }

  #remember(port: IronicPort): void {
    this.#ports.set(port.uuid, port);
    this.#byAddress.set(port.address, port.uuid);
    const known = this.#byNode.get(port.node_uuid) ?? new Set();
    this.#byNode.set(port.node_uuid, known.add(port.uuid));
  }
}
