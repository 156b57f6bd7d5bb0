import type { Clock, Timers } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";
import { conflict } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { instanceAssociated, nodeLocked, nodeNotFound } from "./ironic-error.js";

export type JsonObject = { readonly [key: string]: Json };

/** A field of a node: the first minor version that has it, and its value in a new node. */
interface NodeField<T> {
  readonly from: number;
  readonly initial: T;
}

function field<T>(from: number, initial: T): NodeField<T> {
  return { from, initial };
}

const text = (from: number) => field<string | null>(from, null);

/** Fields of a node with the API's names, besides its identity and its times. Times are ISO 8601 in whole seconds. */
export const NODE_FIELDS = {
  automated_clean: field<boolean | null>(47, null),
  bios_interface: field(40, "fake"),
  boot_interface: field(31, "fake"),
  boot_mode: text(75),
  clean_step: field<JsonObject>(7, {}),
  conductor_group: field(46, ""),
  console_enabled: field(1, false),
  console_interface: field(31, "fake"),
  deploy_interface: field(31, "fake"),
  deploy_step: field<JsonObject>(44, {}),
  description: text(51),
  driver: field(1, "fake-hardware"),
  driver_info: field<JsonObject>(1, {}),
  driver_internal_info: field<JsonObject>(3, {}),
  extra: field<JsonObject>(1, {}),
  fault: text(42),
  inspection_finished_at: text(6),
  inspection_started_at: text(6),
  inspect_interface: field(31, "fake"),
  instance_info: field<JsonObject>(1, {}),
  instance_uuid: text(1),
  last_error: text(1),
  lessee: text(65),
  maintenance: field(1, false),
  maintenance_reason: text(1),
  management_interface: field(31, "fake"),
  name: text(5),
  network_data: field<JsonObject>(66, {}),
  network_interface: field(20, "flat"),
  owner: text(50),
  power_interface: field(31, "fake"),
  power_state: text(1),
  properties: field<JsonObject>(1, {}),
  protected: field(48, false),
  protected_reason: text(48),
  provision_state: field(1, "enroll"),
  provision_updated_at: text(1),
  raid_config: field<JsonObject>(12, {}),
  raid_interface: field(31, "fake"),
  rescue_interface: field(38, "fake"),
  resource_class: text(21),
  retired: field(61, false),
  retired_reason: text(61),
  secure_boot: field<boolean | null>(75, null),
  shard: text(82),
  storage_interface: field(33, "noop"),
  target_power_state: text(1),
  target_provision_state: text(1),
  target_raid_config: field<JsonObject>(12, {}),
  traits: field<readonly string[]>(37, []),
  vendor_interface: field(31, "no-vendor"),
};

type NodeFields = { readonly [K in keyof typeof NODE_FIELDS]: (typeof NODE_FIELDS)[K]["initial"] };

/** A node with the API's field names. Immutable. */
export interface IronicNode extends NodeFields {
  /** Position in order of enrollment. */
  readonly id: number;
  readonly uuid: string;
  readonly created_at: string;
  readonly updated_at: string | null;
  /** End of the current hardware operation, milliseconds since the epoch; null without one. Not in the API. */
  readonly work_due: number | null;
}

/** Attributes of a new node; the others have Ironic's defaults. */
type NewNode = Pick<IronicNode, "uuid"> & Partial<Omit<IronicNode, "id" | "created_at" | "updated_at">>;

export type NodeChanges = Partial<Omit<IronicNode, "id" | "uuid" | "created_at" | "updated_at">>;

/** Formats a time like `2026-11-21T12:01:03+00:00`. */
export const isoTime = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}+00:00`;

/** All nodes, in memory for lists and in the database for restarts. Each change is stored before its method returns. */
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

  /** Returns the nodes in order of enrollment. */
  all(): IterableIterator<IronicNode> {
    return this.#byUuid.values();
  }

  find(uuid: string): IronicNode | undefined {
    return this.#byUuid.get(uuid);
  }

  findByName(name: string): IronicNode | undefined {
    return this.#byUuid.get(this.#byName.get(name) ?? "");
  }

  /** @throws {HttpError} 404 */
  get(uuid: string): IronicNode {
    const node = this.find(uuid);
    if (!node) {
      throw nodeNotFound(uuid);
    }
    return node;
  }

  /** @throws {HttpError} 409 if the uuid, name or instance is in use */
  create(attributes: NewNode): IronicNode {
    if (this.#byUuid.has(attributes.uuid)) {
      throw conflict(`A node with UUID ${attributes.uuid} already exists.`);
    }
    this.#assertUnique(attributes.uuid, attributes);
    const created_at = isoTime(this.#clock.now());
    const draft = { ...INITIAL, work_due: null, ...attributes, id: 0, created_at, updated_at: null };
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

  /** @throws {HttpError} 404, 409 */
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
      throw conflict(`A node with name ${name} already exists.`);
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

const INITIAL = Object.fromEntries(
  Object.entries(NODE_FIELDS).map(([name, { initial }]) => [name, initial]),
) as unknown as NodeFields;

/** `[conductor] node_locked_retry_attempts`, `node_locked_retry_interval` (milliseconds). */
const ATTEMPTS = 3;

const INTERVAL = 1_000;

/** The conductor's name in reservations. */
export const CONDUCTOR_HOST = "localhost";

/**
 * Locks that prevent concurrent changes of a node. They are not stored; operations that continue after a restart
 * reacquire them.
 */
export class NodeLocks {
  readonly #timers: Timers;
  readonly #held = new Set<string>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Returns the value of the node's `reservation`. */
  holder(uuid: string): string | null {
    return this.#held.has(uuid) ? CONDUCTOR_HOST : null;
  }

  /** @throws {HttpError} 409 after three attempts */
  async acquire(uuid: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.tryAcquire(uuid)) {
        return;
      }
      if (attempt === ATTEMPTS) {
        throw nodeLocked(uuid, CONDUCTOR_HOST);
      }
      await this.#timers.sleep(INTERVAL);
    }
  }

  tryAcquire(uuid: string): boolean {
    if (this.#held.has(uuid)) {
      return false;
    }
    this.#held.add(uuid);
    return true;
  }

  release(uuid: string): void {
    this.#held.delete(uuid);
  }
}
