import type { Clock } from "../../../runtime/time.js";
import {
  type Aggregate,
  type Allocation,
  type Consumer,
  type ConsumerType,
  PlacementError,
  type Project,
  type Provider,
  type ResourceClass,
  type Trait,
  type User,
} from "../model.js";
import type { ConsumerChange, ProviderChange, SqlValue } from "./database.js";
import { ChangedRows, type Sink } from "./journal.js";

/** The trait of providers whose inventory is available to trees with a common aggregate. */
const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";

/** All Placement records, indexed in memory. Reads use only this state. */
export class State {
  readonly classes = new Map<string, ResourceClass>();
  readonly traits = new Map<string, Trait>();
  /** By UUID. */
  readonly providers = new Map<string, Provider>();
  readonly providersByName = new Map<string, Provider>();
  /** By UUID. */
  readonly aggregates = new Map<string, Aggregate>();
  readonly projects = new Map<string, Project>();
  readonly users = new Map<string, User>();
  readonly consumerTypes = new Map<string, ConsumerType>();
  /** By UUID. */
  readonly consumers = new Map<string, Consumer>();
  /** The number of providers with a parent. */
  nested = 0;

  readonly #ids = new Map<string, number>();

  /** Returns the next id of a table. */
  nextId(table: string, floor = 1): number {
    const id = Math.max((this.#ids.get(table) ?? 0) + 1, floor);
    this.#ids.set(table, id);
    return id;
  }

  /** Marks an id as used, so that {@link nextId} continues above it. */
  reserveId(table: string, id: number): void {
    if (id > (this.#ids.get(table) ?? 0)) {
      this.#ids.set(table, id);
    }
  }

  /** @throws {PlacementError} ResourceClassNotFound */
  resourceClass(name: string): ResourceClass {
    const found = this.classes.get(name);
    if (found === undefined) {
      throw new PlacementError("ResourceClassNotFound", `No such resource class ${name}.`);
    }
    return found;
  }

  /** @throws {PlacementError} TraitNotFound */
  trait(name: string): Trait {
    const found = this.traits.get(name);
    if (found === undefined) {
      throw new PlacementError("TraitNotFound", `No such trait(s): ${name}.`);
    }
    return found;
  }

  /** Returns the providers that share their inventories. */
  sharing(): ReadonlySet<Provider> {
    return this.traits.get(SHARING_TRAIT)?.providers ?? new Set();
  }
}

/** Returns a provider and all its descendants. */
export function subtree(provider: Provider): Provider[] {
  const found = [provider];
  for (const each of found) {
    found.push(...each.children);
  }
  return found;
}

/**
 * The changes of one request. Each is applied in memory immediately; its undo function and its row are recorded.
 * {@link commit} passes them on to be written in one transaction; {@link rollback} restores memory.
 */
export class UnitOfWork {
  /** Milliseconds since the epoch; the same for all changes of a request. */
  readonly now: number;
  readonly #sink: Sink | undefined;
  #undo: (() => void)[] = [];
  /** The changed rows; undefined without changes. */
  #rows: ChangedRows | undefined;

  /** @param sink absent: changes are in memory only */
  constructor(clock: Clock, sink: Sink | undefined) {
    this.now = clock.now();
    this.#sink = sink;
  }

  /** Applies a change that `undo` reverts. */
  apply(change: () => void, undo: () => void): void {
    change();
    this.#undo.push(undo);
  }

  write(sql: string, ...values: SqlValue[]): void {
    this.#changed.write(sql, values);
  }

  /** Records a changed provider row; `undo` reverts the change in memory. */
  changed(provider: Provider, what: ProviderChange, undo: () => void): void {
    const { updatedAt } = provider;
    provider.updatedAt = this.now;
    provider.fragments = null;
    this.#undo.push(() => {
      undo();
      provider.updatedAt = updatedAt;
      provider.fragments = null;
    });
    this.#changed.provider(provider, what);
  }

  /** Records a consumer row that was created, changed or deleted. */
  consumer(consumer: Consumer, what: ConsumerChange): void {
    this.#changed.consumer(consumer, what);
  }

  /** Records a consumer's allocations before they change. */
  allocated(consumer: Consumer, before: readonly Allocation[]): void {
    this.#changed.allocations(consumer, before);
  }

  /** Drops the pending changes of a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#changed.gone(provider);
  }

  /** Passes the changes to the sink; reverts all of them if that fails. May be called again after further changes. */
  commit(): void {
    try {
      if (this.#rows !== undefined) {
        this.#sink?.take(this.#rows, this.#undo);
      }
    } catch (error) {
      this.rollback();
      throw error;
    }
    this.#undo = [];
    this.#rows = undefined;
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) {
      undo();
    }
    this.#undo = [];
    this.#rows = undefined;
  }

  get #changed(): ChangedRows {
    this.#rows ??= new ChangedRows();
    return this.#rows;
  }
}

/** The inputs of a change: the state and the request's unit of work. */
export interface Changing {
  readonly state: State;
  readonly unit: UnitOfWork;
}
