import type { Clock, Timers } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";
import { HttpError } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { instanceAssociated, nodeLocked, nodeNotFound } from "./ironic-error.js";

export type JsonObject = { readonly [key: string]: Json };

/** A node with the API's field names. Times are ISO 8601 in whole seconds. Immutable. */
export interface IronicNode {
  /** Position in order of enrollment. */
  readonly id: number;
  readonly uuid: string;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly automated_clean: boolean | null;
  readonly bios_interface: string;
  readonly boot_interface: string;
  readonly boot_mode: string | null;
  readonly clean_step: JsonObject;
  readonly conductor_group: string;
  readonly console_enabled: boolean;
  readonly console_interface: string;
  readonly deploy_interface: string;
  readonly deploy_step: JsonObject;
  readonly description: string | null;
  readonly driver: string;
  readonly driver_info: JsonObject;
  readonly driver_internal_info: JsonObject;
  readonly extra: JsonObject;
  readonly fault: string | null;
  readonly inspection_finished_at: string | null;
  readonly inspection_started_at: string | null;
  readonly inspect_interface: string;
  readonly instance_info: JsonObject;
  readonly instance_uuid: string | null;
  readonly last_error: string | null;
  readonly lessee: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly management_interface: string;
  readonly name: string | null;
  readonly network_data: JsonObject;
  readonly network_interface: string;
  readonly owner: string | null;
  readonly power_interface: string;
  readonly power_state: string | null;
  readonly properties: JsonObject;
  readonly protected: boolean;
  readonly protected_reason: string | null;
  readonly provision_state: string;
  readonly provision_updated_at: string | null;
  readonly raid_config: JsonObject;
  readonly raid_interface: string;
  readonly rescue_interface: string;
  readonly resource_class: string | null;
  readonly retired: boolean;
  readonly retired_reason: string | null;
  readonly secure_boot: boolean | null;
  readonly shard: string | null;
  readonly storage_interface: string;
  readonly target_power_state: string | null;
  readonly target_provision_state: string | null;
  readonly target_raid_config: JsonObject;
  readonly traits: readonly string[];
  readonly vendor_interface: string;
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
      throw new HttpError(409, `A node with UUID ${attributes.uuid} already exists.`);
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
      throw new HttpError(409, `A node with name ${name} already exists.`);
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

export function newNode(attributes: NewNode, id: number, now: string): IronicNode {
  return {
    automated_clean: null,
    bios_interface: "fake",
    boot_interface: "fake",
    boot_mode: null,
    clean_step: {},
    conductor_group: "",
    console_enabled: false,
    console_interface: "fake",
    deploy_interface: "fake",
    deploy_step: {},
    description: null,
    driver: "fake-hardware",
    driver_info: {},
    driver_internal_info: {},
    extra: {},
    fault: null,
    inspection_finished_at: null,
    inspection_started_at: null,
    inspect_interface: "fake",
    instance_info: {},
    instance_uuid: null,
    last_error: null,
    lessee: null,
    maintenance: false,
    maintenance_reason: null,
    management_interface: "fake",
    name: null,
    network_data: {},
    network_interface: "flat",
    owner: null,
    power_interface: "fake",
    power_state: null,
    properties: {},
    protected: false,
    protected_reason: null,
    provision_state: "enroll",
    provision_updated_at: null,
    raid_config: {},
    raid_interface: "fake",
    rescue_interface: "fake",
    resource_class: null,
    retired: false,
    retired_reason: null,
    secure_boot: null,
    shard: null,
    storage_interface: "noop",
    target_power_state: null,
    target_provision_state: null,
    target_raid_config: {},
    traits: [],
    vendor_interface: "no-vendor",
    work_due: null,
    ...attributes,
    id,
    created_at: now,
    updated_at: null,
  };
}

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
