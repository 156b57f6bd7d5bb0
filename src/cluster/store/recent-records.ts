import type { Sql } from "./sql.js";

/** Records of one kind that are kept; the one that was read from the database, or written, longest ago goes first. */
const MOST = 1_000;

/**
 * Records as they are in the database, of those that were read or written last: a move reads its instance a dozen times, and a row
 * with forty columns costs more to read than all else that is done with it. Whoever writes a row says so here; what a transaction
 * that is undone has written is forgotten with all else. Nothing is kept of a database that others write, too.
 */
export class RecentRecords<K, T> {
  readonly #records = new Map<K, T>();
  readonly #most: number;

  constructor(sql: Pick<Sql, "onUndo" | "isOwn">) {
    this.#most = sql.isOwn ? MOST : 0;
    sql.onUndo(() => this.#records.clear());
  }

  get(key: K): T | undefined {
    return this.#records.get(key);
  }

  /** It was just read, or written. */
  set(key: K, record: T): void {
    this.#records.delete(key);
    this.#records.set(key, record);
    if (this.#records.size > this.#most) {
      const [oldest] = this.#records.keys();
      this.#records.delete(oldest as K);
    }
  }

  /** It was written, and is to be read again. */
  forget(key: K): void {
    this.#records.delete(key);
  }
}
