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

/** Records of Placement that a transaction has changed, as they are now, and those that it has deleted. */
export interface TouchedRecords {
  readonly providers: ReadonlySet<Provider>;
  readonly consumers: ReadonlySet<Consumer>;
}

/** What is to be written: a record whose own row has changed is written once, as it is in the end. */
export class ChangedRows {
  readonly #changes: Change[] = [];
  readonly #providers = new Map<Provider, ProviderChange>();
  readonly #consumers = new Map<Consumer, ConsumerChange>();
  /** What consumers had at first. */
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

  /** Forgets a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#providers.delete(provider);
    this.#gone.add(provider);
  }

  /** What has changed, or is gone. */
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

  /** Notes that a consumer had these allocations; what it has in the end is read then. */
  allocations(consumer: Consumer, before: readonly Allocation[]): void {
    if (!this.#allocations.has(consumer)) {
      this.#allocations.set(consumer, before);
    }
  }

  /** Adds what came after. */
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

  /** To be run in any order of records: the database checks references at the end of the transaction. */
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

/** Where a unit of work leaves what it has changed. */
export interface Sink {
  /**
   * @param undo takes the changes back in memory, the last one first
   * @throws nothing has been taken
   */
  take(rows: ChangedRows, undo: readonly (() => void)[]): void;
}

/** Writes to the database at once; prepares each statement at its first use. */
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

  /** Calls the listener, which must not throw, after each transaction, until what is returned is called. */
  onWritten(listener: (touched: TouchedRecords) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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

/** Requests that are committed together at most. */
const MAX_GROUP_SIZE = 128;

/** Milliseconds that a request waits for others at most; what is under way goes on to its end. */
const LONGEST = 5;

/** A request that changes things: it may be handled again when the first time has been taken back. */
type Handle = (sink: Sink) => ServiceResponse;

interface Member {
  readonly handle: Handle;
  readonly settle: (response: ServiceResponse | Promise<never>) => void;
  readonly response: ServiceResponse;
}

/**
 * Commits requests that arrive together in one transaction, before any of them is answered. They are handled one after the
 * other, each on what those before it have left in memory. When the transaction fails, memory is taken back to what it was
 * before the first, and each is handled again with a transaction of its own: what one of them broke is its own failure alone.
 *
 * A single writer does not wait: the first write of a turn of the event loop commits at once, unless the turn before had several.
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
  /** Requests of this turn, and whether the one before had several. */
  #arrived = 0;
  #crowded = false;

  constructor(journal: Journal, clock: Pick<Clock, "monotonic">, servers: Pick<Servers, "afterArrivals">) {
    this.#journal = journal;
    this.#clock = clock;
    this.#servers = servers;
  }

  /** Answers when what the request has changed, or has seen changed, is in the database. */
  handle(handle: Handle): ServiceResponse | Promise<ServiceResponse> {
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

  /** Commits what waits, and answers. */
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

  #within(handle: Handle): ServiceResponse {
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
      // Handled alone, each shows whether the fault was its own.
      return false;
    }
  }

  #alone(handle: Handle): ServiceResponse | Promise<never> {
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
