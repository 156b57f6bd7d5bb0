import type { Sql } from "./sql.js";

/** Records of one kind that are kept; the one that was read from the database, or written, longest ago goes first. */
const MAX_RECORDS = 1_000;
/** A record whose texts are longer, in characters, is heavy. */
const LIGHT = 8_192;
/** Characters of the heavy ones that are kept; of these, too, the one of longest ago goes first. */
const MAX_HEAVY_CHARACTERS = 8 * 1024 * 1024;

/**
 * Records as they are in the database, of those that were read or written last: a move reads its instance a dozen times, and a row
 * with forty columns costs more to read than all else that is done with it. Whoever writes a row says so here; what a transaction
 * that is undone has written is forgotten with all else. Nothing is kept of a database that others write, too.
 */
export class RecentRecords<K, T> {
  readonly #records = new Map<K, T>();
  /** Characters of those that are heavy. */
  readonly #heavy = new Map<K, number>();
  #heaviness = 0;
  readonly #most: number;
  readonly #weigh: (record: T) => number;

  /** @param weigh characters of the record's texts; default: none of the kind is heavy */
  constructor(sql: Pick<Sql, "onUndo" | "isOwn">, weigh: (record: T) => number = () => 0) {
    this.#most = sql.isOwn ? MAX_RECORDS : 0;
    this.#weigh = weigh;
    sql.onUndo(() => {
      this.#records.clear();
      this.#heavy.clear();
      this.#heaviness = 0;
    });
  }

  get(key: K): T | undefined {
    return this.#records.get(key);
  }

  /** It was just read, or written. */
  set(key: K, record: T): void {
    this.forget(key);
    this.#records.set(key, record);
    const weight = this.#weigh(record);
    if (weight > LIGHT) {
      this.#heavy.set(key, weight);
      this.#heaviness += weight;
    }
    while (this.#heaviness > MAX_HEAVY_CHARACTERS) {
      this.forget(this.#heavy.keys().next().value as K);
    }
    if (this.#records.size > this.#most) {
      this.forget(this.#records.keys().next().value as K);
    }
  }

  /** It was written, and is to be read again. */
  forget(key: K): void {
    this.#records.delete(key);
    const weight = this.#heavy.get(key);
    if (weight !== undefined) {
      this.#heavy.delete(key);
      this.#heaviness -= weight;
    }
  }
}
