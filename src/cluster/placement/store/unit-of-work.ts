import type { Clock } from "../../../runtime/clock.js";
import type { Allocation, Consumer, Provider } from "../model/records.js";
import type { Database, SqlValue, Statement } from "./database.js";
import {
  allocationChanges,
  type Change,
  type ConsumerChange,
  consumerChange,
  type ProviderChange,
  providerChange,
} from "./row-changes.js";

/** What cannot be done twice, done once: prepares each statement at its first use. */
export class Journal {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs all changes in one transaction, or none. */
  write(changes: readonly Change[]): void {
    this.#run("BEGIN IMMEDIATE", []);
    try {
      for (const { sql, values } of changes) {
        this.#run(sql, values);
      }
      this.#run("COMMIT", []);
    } catch (error) {
      if (this.#database.inTransaction) {
        this.#database.exec("ROLLBACK");
      }
      throw error;
    }
  }

  #run(sql: string, values: readonly SqlValue[]): void {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    statement.run(...values);
  }
}

/**
 * The changes of one request. Each is made in memory at once and noted twice: how to take it back, and what to write.
 * {@link commit} writes all of it in one transaction; {@link rollback} leaves memory as it was.
 */
export class UnitOfWork {
  /** Milliseconds since the epoch; one time for all changes of a request. */
  readonly now: number;
  readonly #journal: Journal | undefined;
  #undo: (() => void)[] = [];
  #changes: Change[] = [];
  /** Records whose own row has changed; written once, as they are in the end. */
  #providers = new Map<Provider, ProviderChange>();
  #consumers = new Map<Consumer, ConsumerChange>();
  /** What consumers had at first. */
  #allocations = new Map<Consumer, readonly Allocation[]>();

  constructor(clock: Clock, journal: Journal | undefined) {
    this.now = clock.now();
    this.#journal = journal;
  }

  /** Makes a change that `undo` takes back. */
  apply(change: () => void, undo: () => void): void {
    change();
    this.#undo.push(undo);
  }

  write(sql: string, ...values: SqlValue[]): void {
    this.#changes.push({ sql, values });
  }

  /** Notes that a provider's row has changed, of which `undo` restores what was changed. */
  changed(provider: Provider, what: ProviderChange, undo: () => void): void {
    const { updatedAt } = provider;
    provider.updatedAt = this.now;
    provider.fragments = null;
    this.#undo.push(() => {
      undo();
      provider.updatedAt = updatedAt;
    });
    if (what === "all" || !this.#providers.has(provider)) {
      this.#providers.set(provider, what);
    }
  }

  /** Notes that a consumer's row was made, has changed or is gone. */
  consumer(consumer: Consumer, what: ConsumerChange): void {
    const before = this.#consumers.get(consumer);
    if (before === "created" && what === "deleted") {
      this.#consumers.delete(consumer);
    } else if (before === "created" || (before === "owner" && what === "generation")) {
      return;
    } else {
      this.#consumers.set(consumer, what);
    }
  }

  /** Notes that a consumer, which has these allocations, is about to have others. */
  allocated(consumer: Consumer, before: readonly Allocation[]): void {
    if (!this.#allocations.has(consumer)) {
      this.#allocations.set(consumer, before);
    }
  }

  /** Forgets a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#providers.delete(provider);
  }

  /** Writes what has changed; takes everything back when that fails. May be called again after further changes. */
  commit(): void {
    try {
      const changes = this.#collect();
      if (this.#journal !== undefined && changes.length > 0) {
        this.#journal.write(changes);
      }
    } catch (error) {
      this.rollback();
      throw error;
    }
    this.#undo = [];
    this.#clear();
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) {
      undo();
    }
    this.#undo = [];
    this.#clear();
  }

  /** Writes in any order: the database checks references at the end of the transaction. */
  #collect(): Change[] {
    const changes = this.#changes;
    for (const [provider, what] of this.#providers) {
      changes.push(providerChange(provider, what));
    }
    for (const [consumer, what] of this.#consumers) {
      changes.push(consumerChange(consumer, what));
    }
    for (const [consumer, before] of this.#allocations) {
      changes.push(...allocationChanges(consumer, before));
    }
    return changes;
  }

  #clear(): void {
    this.#allocations = new Map();
    this.#changes = [];
    this.#providers = new Map();
    this.#consumers = new Map();
  }
}
