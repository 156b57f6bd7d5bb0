import type { Clock } from "../../runtime/clock.js";
import type { Sql } from "../store/sql.js";
import { IronicError } from "./ironic-error.js";
import { isoTime } from "./node.js";

/** A network port of a node; `vif` is what Nova has attached to it. */
export interface IronicPort {
  readonly uuid: string;
  readonly address: string;
  readonly node_uuid: string;
  readonly created_at: string;
  readonly physical_network: string | null;
  readonly pxe_enabled: boolean;
  readonly vif: string | null;
}

/** All ports, as {@link NodeStore} has the nodes. */
export class PortStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #ports = new Map<string, IronicPort>();
  readonly #byNode = new Map<string, Set<string>>();
  readonly #addresses = new Set<string>();

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    for (const [record] of sql.all("SELECT record FROM ironic_ports ORDER BY id")) {
      this.#remember(JSON.parse(String(record)) as IronicPort);
    }
  }

  all(): IterableIterator<IronicPort> {
    return this.#ports.values();
  }

  of(nodeUuid: string): IronicPort[] {
    return [...(this.#byNode.get(nodeUuid) ?? [])].flatMap((uuid) => this.#ports.get(uuid) ?? []);
  }

  /** @throws {IronicError} 409: the address or uuid is taken */
  create(
    given: Pick<IronicPort, "uuid" | "address"> & Partial<IronicPort>,
    node: { readonly id: number; readonly uuid: string },
  ): IronicPort {
    if (this.#ports.has(given.uuid)) {
      throw new IronicError(409, `A port with UUID ${given.uuid} already exists.`);
    }
    if (this.#addresses.has(given.address)) {
      throw new IronicError(409, `A port with MAC address ${given.address} already exists.`);
    }
    const port: IronicPort = {
      physical_network: null,
      pxe_enabled: true,
      vif: null,
      ...given,
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

  setVif(uuid: string, vif: string | null): void {
    const before = this.#ports.get(uuid);
    if (!before) {
      return;
    }
    const port = { ...before, vif };
    this.#sql.run("UPDATE ironic_ports SET record = ? WHERE uuid = ?", JSON.stringify(port), uuid);
    this.#ports.set(uuid, port);
  }

  /** The rows go with the node's. */
  forgetNode(nodeUuid: string): void {
    for (const port of this.of(nodeUuid)) {
      this.#ports.delete(port.uuid);
      this.#addresses.delete(port.address);
    }
    this.#byNode.delete(nodeUuid);
  }

  #remember(port: IronicPort): void {
    this.#ports.set(port.uuid, port);
    this.#addresses.add(port.address);
    const known = this.#byNode.get(port.node_uuid) ?? new Set();
    this.#byNode.set(port.node_uuid, known.add(port.uuid));
  }
}
