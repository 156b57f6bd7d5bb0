import type { Clock } from "../../../runtime/clock.js";
import type { Allocation, Consumer, Provider } from "../model/records.js";
import { ChangedRows } from "./changed-rows.js";
import type { SqlValue } from "./database.js";
import type { Sink } from "./journal.js";
import type { ConsumerChange, ProviderChange } from "./row-changes.js";

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
