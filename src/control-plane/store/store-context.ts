import type { Instance, Migration } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";

/** The max number of cached records of a kind. The least recently read or written one is evicted first. */
const MAX_RECORDS = 1_000;

/** A record with more characters than this is heavy. */
const LIGHT = 8_192;

/** The max number of characters of all heavy records; the least recently used one is evicted first. */
const MAX_HEAVY_CHARACTERS = 8 * 1024 * 1024;

/**
 * Caches the most recently read or written records: a move reads its instance a dozen times, and reading a row of forty
 * columns costs more than the other work on it.
 * Every write of a row must be reported here. A rollback clears the cache. Nothing is cached for a database that other
 * processes write.
 */
export class RecentRecords<K, T> {
  readonly #records = new Map<K, T>();
  /** Characters of each heavy record. */
  readonly #heavy = new Map<K, number>();
  #heaviness = 0;
  readonly #most: number;
  readonly #weigh: (record: T) => number;

  /** @param weigh counts the characters of a record's long strings; default: no record is heavy */
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

  /** Adds a record that was just read or written. */
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

  /** Removes a record that was written, and must be read again. */
  forget(key: K): void {
    this.#records.delete(key);
    const weight = this.#heavy.get(key);
    if (weight !== undefined) {
      this.#heavy.delete(key);
      this.#heaviness -= weight;
    }
  }
}

/** A changed record. The id is the row's; for instances it is the uuid, for messages the host. */
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
  /** Time of the service's heartbeat (ms), if it is the only change. */
  readonly heartbeatAt?: number;
}

/** Notifies listeners of committed changes. */
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

  /** @param more `heartbeatAt`, for services */
  changed(kind: StoreChange["kind"], id: StoreChange["id"], more: Pick<StoreChange, "heartbeatAt"> = {}): void {
    const change: StoreChange = { kind, id, ...more };
    this.#sql.afterCommit(() => {
      for (const listener of this.#listeners) {
        try {
          listener(change);
        } catch (err) {
          // The change is committed, so a failing listener must not make its writer fail.
          this.#logger.error("a listener of database changes failed", { err, kind });
        }
      }
    });
  }
}

/** Changes other records in the transaction that changes those of servers and their moves. */
export interface StoreFollower {
  /** @param before null for a new one */
  readonly instanceSaved: (instance: Instance, before: Instance | null) => void;
  readonly instanceDestroyed: (instance: Instance) => void;
  /** @param before null for a new one */
  readonly migrationSaved: (migration: Migration, before: Migration | null) => void;
}

/** The dependencies of each part of the store. */
export interface StoreContext {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly changes: Changes;
  /** By uuid. */
  readonly recentInstances: RecentRecords<string, Instance>;
  /** By id. */
  readonly recentMigrations: RecentRecords<number, Migration>;
  readonly followers: readonly StoreFollower[];
}
