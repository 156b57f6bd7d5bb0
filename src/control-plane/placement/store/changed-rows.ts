import type { Allocation, Consumer, Provider } from "../model/records.js";
import type { SqlValue } from "./database.js";
import {
  allocationChanges,
  type Change,
  type ConsumerChange,
  consumerChange,
  type ProviderChange,
  providerChange,
} from "./row-changes.js";

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
