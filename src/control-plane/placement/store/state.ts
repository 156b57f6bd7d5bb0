import type { Clock } from "../../../runtime/time.js";
import {
  type Aggregate,
  type Allocation,
  type Consumer,
  type ConsumerType,
  type Project,
  type Provider,
  type ResourceClass,
  ResourceClassNotFound,
  type Trait,
  TraitNotFound,
  type User,
} from "../model.js";
import type { ConsumerChange, ProviderChange, SqlValue } from "./database.js";
import { ChangedRows, type Sink } from "./journal.js";

/** Providers with this trait share their inventory with the trees that have an aggregate in common with them. */
const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";

/** Everything that Placement knows, resident in memory and indexed; what is read comes from here alone. */
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
  /** Providers that have a parent. */
  nested = 0;

  readonly #ids = new Map<string, number>();

  /** The next id of a table. */
  nextId(table: string, floor = 1): number {
    const id = Math.max((this.#ids.get(table) ?? 0) + 1, floor);
    this.#ids.set(table, id);
    return id;
  }

  /** Notes an id in use, so that {@link nextId} goes on above it. */
  reserveId(table: string, id: number): void {
    if (id > (this.#ids.get(table) ?? 0)) {
      this.#ids.set(table, id);
    }
  }

  /** @throws {ResourceClassNotFound} */
  resourceClass(name: string): ResourceClass {
    const found = this.classes.get(name);
    if (found === undefined) {
      throw new ResourceClassNotFound(name);
    }
    return found;
  }

  /** @throws {TraitNotFound} */
  trait(name: string): Trait {
    const found = this.traits.get(name);
    if (found === undefined) {
      throw new TraitNotFound(name);
    }
    return found;
  }

  /** The providers that share their inventories. */
  sharing(): ReadonlySet<Provider> {
    return this.traits.get(SHARING_TRAIT)?.providers ?? new Set();
  }
}

/** A provider and everything below it. */
export function subtree(provider: Provider): Provider[] {
  const found = [provider];
  for (const each of found) {
    found.push(...each.children);
  }
  return found;
}

/**
 * The changes of one request. Each is made in memory at once and noted twice: how to take it back, and what to write.
 * {@link commit} leaves all of it to be written in one transaction; {@link rollback} leaves memory as it was.
 */
export class UnitOfWork {
  /** Milliseconds since the epoch; one time for all changes of a request. */
  readonly now: number;
  readonly #sink: Sink | undefined;
  #undo: (() => void)[] = [];
  /** Undefined: nothing has changed. */
  #rows: ChangedRows | undefined;

  /** @param sink absent: what has changed is in memory only */
  constructor(clock: Clock, sink: Sink | undefined) {
    this.now = clock.now();
    this.#sink = sink;
  }

  /** Makes a change that `undo` takes back. */
  apply(change: () => void, undo: () => void): void {
    change();
    this.#undo.push(undo);
  }

  write(sql: string, ...values: SqlValue[]): void {
    this.#changed.write(sql, values);
  }

  /** Notes that a provider's row has changed, of which `undo` restores what was changed. */
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

  /** Notes that a consumer's row was made, has changed or is gone. */
  consumer(consumer: Consumer, what: ConsumerChange): void {
    this.#changed.consumer(consumer, what);
  }

  /** Notes that a consumer, which has these allocations, is about to have others. */
  allocated(consumer: Consumer, before: readonly Allocation[]): void {
    this.#changed.allocations(consumer, before);
  }

  /** Forgets a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#changed.gone(provider);
  }

  /** Hands on what has changed; takes everything back when that fails. May be called again after further changes. */
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

/** What a change works on: everything known, and the request's unit of work. */
export interface Changing {
  readonly state: State;
  readonly unit: UnitOfWork;
}
