import type { Servers, ServiceResponse } from "../../../runtime/http-server.js";
import type { Clock } from "../../../runtime/time.js";
import type { Allocation, Consumer, Provider } from "../model.js";
import {
  allocationChanges,
  type Change,
  type ConsumerChange,
  consumerChange,
  type Database,
  type ProviderChange,
  providerChange,
  type SqlValue,
  type Statement,
} from "./database.js";

/** The records that a transaction has changed, in their current state, and those that it has deleted. */
export interface TouchedRecords {
  readonly providers: ReadonlySet<Provider>;
  readonly consumers: ReadonlySet<Consumer>;
}

/** The rows to write. A changed record is written once, in its final state. */
export class ChangedRows {
  readonly #changes: Change[] = [];
  readonly #providers = new Map<Provider, ProviderChange>();
  readonly #consumers = new Map<Consumer, ConsumerChange>();
  /** The allocations of each consumer before the first change. */
  readonly #allocations = new Map<Consumer, readonly Allocation[]>();
  readonly #gone = new Set<Provider>();

  get empty(): boolean {
    return (
      this.#changes.length === 0 &&
      this.#providers.size === 0 &&
      this.#consumers.size === 0 &&
      this.#allocations.size === 0
    );
  }

  write(sql: string, values: readonly SqlValue[]): void {
    this.#changes.push({ sql, values });
  }

  provider(provider: Provider, what: ProviderChange): void {
    if (what === "all" || !this.#providers.has(provider)) {
      this.#providers.set(provider, what);
    }
  }

  /** Drops the pending changes of a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#providers.delete(provider);
    this.#gone.add(provider);
  }

  /** The changed and deleted records. */
  get touched(): TouchedRecords {
    return {
      providers: new Set([...this.#providers.keys(), ...this.#gone]),
      consumers: new Set([...this.#consumers.keys(), ...this.#allocations.keys()]),
    };
  }

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

  /** Records a consumer's former allocations. The final ones are read when the statements are built. */
  allocations(consumer: Consumer, before: readonly Allocation[]): void {
    if (!this.#allocations.has(consumer)) {
      this.#allocations.set(consumer, before);
    }
  }

  /** Appends the changes of a later request. */
  add(later: ChangedRows): void {
    this.#changes.push(...later.#changes);
    for (const [provider, what] of later.#providers) {
      this.provider(provider, what);
    }
    for (const provider of later.#gone) {
      this.#gone.add(provider);
    }
    for (const [consumer, what] of later.#consumers) {
      this.consumer(consumer, what);
    }
    for (const [consumer, before] of later.#allocations) {
      this.allocations(consumer, before);
    }
  }

  /**
   * Returns the statements. Records may come in any order: the database checks references at the end of the
   * transaction.
   */
  statements(): readonly Change[] {
    const changes = [...this.#changes];
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
}

/** The destination of a unit of work's changes. */
export interface Sink {
  /**
   * @param undo reverts the changes in memory, in reverse order
   * @throws if no changes were accepted
   */
  take(rows: ChangedRows, undo: readonly (() => void)[]): void;
}

/** Writes to the database immediately. Prepares each statement at first use. */
export class Journal implements Sink {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();
  readonly #listeners = new Set<(touched: TouchedRecords) => void>();

  constructor(database: Database) {
    this.#database = database;
  }

  take(rows: ChangedRows): void {
    if (!rows.empty) {
      this.write(rows.statements());
      this.#notify(rows);
    }
  }

  /** Calls the listener after each transaction; returns an unsubscribe function. The listener must not throw. */
  onWritten(listener: (touched: TouchedRecords) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs all changes in one transaction. */
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

  #notify(rows: ChangedRows): void {
    if (this.#listeners.size > 0) {
      const { touched } = rows;
      for (const listener of this.#listeners) {
        listener(touched);
      }
    }
  }

  #run(sql: string, values: readonly SqlValue[]): void {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    statement.execute(...values);
  }
}

/** The max number of requests in a group. */
const MAX_GROUP_SIZE = 128;

/** The max time, in milliseconds, that a request waits for others. */
const LONGEST = 5;

/** Handles a request that changes records. It runs a second time if the first run was rolled back. */
type Handle = (sink: Sink) => ServiceResponse | Promise<ServiceResponse>;

interface Member {
  readonly handle: Handle;
  readonly settle: (response: ReturnType<Handle>) => void;
  readonly response: ReturnType<Handle>;
}

/**
 * Commits requests that arrive in the same event-loop tick in one transaction, and responds to them after it.
 * They are handled in order, each on the in-memory changes of the previous ones. If the transaction fails, all changes
 * in memory are reverted.
 * Then each request is handled again in its own transaction, so that a failing request does not affect the others.
 * A single writer does not wait: the first write of a tick is committed immediately, unless the previous tick had
 * several.
 */
export class GroupCommit implements Sink {
  readonly #journal: Journal;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #servers: Pick<Servers, "afterArrivals">;
  #members: Member[] = [];
  #rows = new ChangedRows();
  #undo: (() => void)[] = [];
  #changed = false;
  #since = 0;
  /** The number of requests in this tick, and whether the previous tick had several. */
  #arrived = 0;
  #crowded = false;

  constructor(journal: Journal, clock: Pick<Clock, "monotonic">, servers: Pick<Servers, "afterArrivals">) {
    this.#journal = journal;
    this.#clock = clock;
    this.#servers = servers;
  }

  /** Responds when the changes that the request has made, or has observed, are in the database. */
  handle(handle: Handle): ReturnType<Handle> {
    this.#arrived += 1;
    if (this.#arrived === 1) {
      const alone = !this.#crowded;
      this.#servers.afterArrivals(() => this.#turnEnds());
      if (alone) {
        return handle(this.#journal);
      }
    }
    if (this.#members.length === 0) {
      this.#since = this.#clock.monotonic();
    }
    const response = this.#within(handle);
    if (!this.#changed) {
      return response;
    }
    return new Promise((settle) => {
      this.#members.push({ handle, settle, response });
      if (this.#members.length >= MAX_GROUP_SIZE || this.#clock.monotonic() - this.#since >= LONGEST) {
        this.flush();
      }
    });
  }

  take(rows: ChangedRows, undo: readonly (() => void)[]): void {
    if (rows.empty) {
      return;
    }
    this.#changed = true;
    this.#rows.add(rows);
    this.#undo.push(...undo);
  }

  /** Commits the pending changes and sends the responses. */
  flush(): void {
    const members = this.#members;
    const rows = this.#rows;
    const undo = this.#undo;
    if (!this.#changed) {
      return;
    }
    this.#members = [];
    this.#rows = new ChangedRows();
    this.#undo = [];
    this.#changed = false;
    if (this.#written(rows)) {
      for (const { settle, response } of members) {
        settle(response);
      }
      return;
    }
    for (const takeBack of undo.reverse()) {
      takeBack();
    }
    for (const { settle, handle } of members) {
      settle(this.#alone(handle));
    }
  }

  #within(handle: Handle): ReturnType<Handle> {
    try {
      return handle(this);
    } catch (error) {
      this.flush();
      throw error;
    }
  }

  #written(rows: ChangedRows): boolean {
    try {
      this.#journal.take(rows);
      return true;
    } catch {
      // The caller then handles each request alone, which shows which one fails.
      return false;
    }
  }

  #alone(handle: Handle): ReturnType<Handle> {
    try {
      return handle(this.#journal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #turnEnds(): void {
    this.flush();
    this.#crowded = this.#arrived > 1;
    this.#arrived = 0;
  }
}
