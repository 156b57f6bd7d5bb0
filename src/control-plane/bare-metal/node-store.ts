import type { Clock } from "../../runtime/clock.js";
import type { Sql } from "../database/sql.js";
import { IronicError, instanceAssociated, nodeNotFound } from "./ironic-error.js";
import { type IronicNode, isoTime, type NewNode, type NodeChanges, newNode } from "./node.js";

/**
 * All nodes, in memory for the lists and in the state of record's file for the next start: what a method has returned is
 * in the file.
 */
export class NodeStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #byUuid = new Map<string, IronicNode>();
  readonly #byName = new Map<string, string>();
  readonly #byInstance = new Map<string, string>();

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    for (const [id, record] of sql.all("SELECT id, record FROM ironic_nodes ORDER BY id")) {
      this.#remember({ ...(JSON.parse(String(record)) as IronicNode), id: Number(id) });
    }
  }

  /** In the order of enrolment. */
  all(): IterableIterator<IronicNode> {
    return this.#byUuid.values();
  }

  find(uuid: string): IronicNode | undefined {
    return this.#byUuid.get(uuid);
  }

  findByName(name: string): IronicNode | undefined {
    return this.#byUuid.get(this.#byName.get(name) ?? "");
  }

  /** @throws {IronicError} 404 */
  get(uuid: string): IronicNode {
    const node = this.find(uuid);
    if (!node) {
      throw nodeNotFound(uuid);
    }
    return node;
  }

  /** @throws {IronicError} 409: uuid, name or instance are taken */
  create(attributes: NewNode): IronicNode {
    if (this.#byUuid.has(attributes.uuid)) {
      throw new IronicError(409, `A node with UUID ${attributes.uuid} already exists.`);
    }
    this.#assertUnique(attributes.uuid, attributes);
    const draft = newNode(attributes, 0, isoTime(this.#clock.now()));
    const { id } = this.#sql.run(
      "INSERT INTO ironic_nodes (uuid, name, instance_uuid, record) VALUES (?, ?, ?, ?)",
      draft.uuid,
      draft.name,
      draft.instance_uuid,
      JSON.stringify(draft),
    );
    const node = { ...draft, id };
    this.#remember(node);
    return node;
  }

  /** @throws {IronicError} 404, 409 */
  save(uuid: string, changes: NodeChanges): IronicNode {
    const before = this.get(uuid);
    this.#assertUnique(uuid, changes);
    const now = isoTime(this.#clock.now());
    const moved = changes.provision_state !== undefined ? { provision_updated_at: now } : {};
    const node: IronicNode = { ...before, ...changes, ...moved, updated_at: now };
    this.#sql.run(
      "UPDATE ironic_nodes SET name = ?, instance_uuid = ?, record = ? WHERE id = ?",
      node.name,
      node.instance_uuid,
      JSON.stringify(node),
      node.id,
    );
    this.#forgetNames(before);
    this.#remember(node);
    return node;
  }

  remove(uuid: string): void {
    const node = this.get(uuid);
    this.#sql.run("DELETE FROM ironic_nodes WHERE id = ?", node.id);
    this.#forgetNames(node);
    this.#byUuid.delete(uuid);
  }

  #assertUnique(uuid: string, { name, instance_uuid: instance }: NodeChanges): void {
    if (typeof name === "string" && (this.#byName.get(name) ?? uuid) !== uuid) {
      throw new IronicError(409, `A node with name ${name} already exists.`);
    }
    if (typeof instance === "string" && (this.#byInstance.get(instance) ?? uuid) !== uuid) {
      throw instanceAssociated(instance, uuid);
    }
  }

  #remember(node: IronicNode): void {
    this.#byUuid.set(node.uuid, node);
    if (node.name !== null) {
      this.#byName.set(node.name, node.uuid);
    }
    if (node.instance_uuid !== null) {
      this.#byInstance.set(node.instance_uuid, node.uuid);
    }
  }

  #forgetNames(node: IronicNode): void {
    if (node.name !== null) {
      this.#byName.delete(node.name);
    }
    if (node.instance_uuid !== null) {
      this.#byInstance.delete(node.instance_uuid);
    }
  }
}
