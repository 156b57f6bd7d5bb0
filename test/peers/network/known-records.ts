import type { NeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import type { Random } from "./random.js";

export type Members = Readonly<Record<string, unknown>>;

/** A record that both Neutrons have, with the ids of the real one. */
export interface KnownRecord {
  readonly id: string;
  readonly collection: string;
  readonly owner: NeutronCaller;
  /** The last response that had it. */
  readonly attributes: Members;
  /** The path of a record below another one. */
  readonly parent?: string;
}

const NO_RECORD = "00000000-0000-4000-8000-000000000000";

/** The records that requests can refer to. */
export class KnownRecords {
  readonly #byId = new Map<string, KnownRecord>();

  add(record: KnownRecord): void {
    this.#byId.set(record.id, record);
  }

  remove(id: string): void {
    this.#byId.delete(id);
  }

  get(id: string): KnownRecord | undefined {
    return this.#byId.get(id);
  }

  of(collection: string): readonly KnownRecord[] {
    return [...this.#byId.values()].filter((record) => record.collection === collection);
  }

  /** Returns a record of a collection, mostly one of the caller's project and of the last ones. */
  pick(random: Random, collection: string, caller: NeutronCaller): KnownRecord | undefined {
    const all = this.of(collection);
    const own = all.filter(({ owner }) => owner === caller || caller === "admin" || caller === "service");
    const from = own.length > 0 && random.chance(0.85) ? own : all;
    return from.length === 0 ? undefined : random.pick(random.chance(0.6) ? from.slice(-6) : from);
  }

  /** Returns the id of a record; rarely one that no record has. */
  pickId(random: Random, collection: string, caller: NeutronCaller): string {
    const id = random.chance(0.03) ? undefined : this.pick(random, collection, caller)?.id;
    return id ?? NO_RECORD;
  }
}
