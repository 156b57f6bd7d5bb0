import type { Instance, Migration } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";

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

/** What changed; the id is the row's, for instances the uuid, for messages the host. */
export interface StoreChange {
  readonly kind:
    | "service"
    | "compute_node"
    | "instance"
    | "migration"
    | "flavor"
    | "aggregate"
    | "message"
    | "task"
    | "action";
  readonly id: number | string;
  /** When the conductor heard of the service (ms), if nothing else of it changed. */
  readonly heartbeatAt?: number;
}

/** Tells listeners of changes, once they are committed. */
export class Changes {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(sql: Sql, logger: Logger) {
    this.#sql = sql;
    this.#logger = logger;
  }

  listen(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(kind: StoreChange["kind"], id: StoreChange["id"]): void {
    this.#queue({ kind, id });
  }

  heartbeatReceived(serviceId: number, heartbeatAt: number): void {
    this.#queue({ kind: "service", id: serviceId, heartbeatAt });
  }

  #queue(change: StoreChange): void {
    this.#sql.afterCommit(() => {
      for (const listener of this.#listeners) {
        try {
          listener(change);
        } catch (err) {
          // The change is committed: a listener that throws must not make its writer fail.
          this.#logger.error("a listener of the state of record failed", { err, kind: change.kind });
        }
      }
    });
  }
}

/** What each part of the store works with. */
export interface StoreContext {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly changes: Changes;
  /** By uuid. */
  readonly recentInstances: RecentRecords<string, Instance>;
  /** By id. */
  readonly recentMigrations: RecentRecords<number, Migration>;
}
