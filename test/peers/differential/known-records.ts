import type { Random } from "./random.js";

export type Members = Readonly<Record<string, unknown>>;

/** A record that both services have, with the ids of the real one. */
export interface KnownRecord<Caller extends string = string> {
  readonly id: string;
  readonly collection: string;
  readonly owner: Caller;
  /** The last response that had it. */
  readonly attributes: Members;
  /** The path of a record below another one. */
  readonly parent?: string;
}

const NO_RECORD = "00000000-0000-4000-8000-000000000000";

/** The records that requests can refer to. */
export class KnownRecords<Caller extends string = string> {
  readonly #byId = new Map<string, KnownRecord<Caller>>();
  readonly #isOwn: (owner: Caller, caller: Caller) => boolean;

  /** @param isOwn whether a caller mostly refers to the records of an owner */
  constructor(isOwn: (owner: Caller, caller: Caller) => boolean) {
    this.#isOwn = isOwn;
  }

  add(record: KnownRecord<Caller>): void {
    this.#byId.set(record.id, record);
  }

  remove(id: string): void {
    this.#byId.delete(id);
  }

  get(id: string): KnownRecord<Caller> | undefined {
    return this.#byId.get(id);
  }

  of(collection: string): readonly KnownRecord<Caller>[] {
    return [...this.#byId.values()].filter((record) => record.collection === collection);
  }

  /** Returns a record of a collection, mostly one of the caller's project and of the last ones. */
  pick(random: Random, collection: string, caller: Caller): KnownRecord<Caller> | undefined {
    const all = this.of(collection);
    const own = all.filter(({ owner }) => this.#isOwn(owner, caller));
    const from = own.length > 0 && random.chance(0.85) ? own : all;
    return from.length === 0 ? undefined : random.pick(random.chance(0.6) ? from.slice(-6) : from);
  }

  /** Returns the id of a record; rarely one that no record has. */
  pickId(random: Random, collection: string, caller: Caller): string {
    const id = random.chance(0.03) ? undefined : this.pick(random, collection, caller)?.id;
    return id ?? NO_RECORD;
  }
}
