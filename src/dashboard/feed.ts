import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import type { DashboardMessage, DashboardRow, Kind, Rows } from "./wire/messages.js";

/** Milliseconds for which changes are gathered before a message tells of them. */
const GATHERED = 50;
/** Milliseconds of reading rows for one message; what is left is for the next. */
const SLICE = 8;
/** Milliseconds until the next message when the one before had no time for all. */
const SOON = 5;
/** Characters of messages that are kept for browsers that were away. */
const MAX_RETAINED_CHARS = 8 * 1024 * 1024;

/** Undefined: there is no such row any more. */
export type ReadRow = (kind: Kind, key: string) => Rows[Kind] | undefined;

interface RetainedMessage {
  readonly message: DashboardMessage;
  readonly size: number;
}

/**
 * Gathers what has changed and makes messages of it: a key that changes often is in each message once, as it is then. The last
 * messages are kept, so that there is one queue for all who look, of a size that is known: who is behind reads on from there, and
 * who is too far behind begins anew.
 */
export class Feed {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #timers: Pick<Timers, "after">;
  readonly #read: ReadRow;
  readonly #changed = new Map<Kind, Set<string>>();
  /** What was told of a row last, so that it is not told again; empty while somebody reads a snapshot, which may be newer. */
  readonly #lastSent = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #retained: RetainedMessage[] = [];
  #size = 0;
  #seq = 0;
  #snapshots = 0;
  #cancel: CancelTimer | undefined;

  constructor(
    { clock, timers }: { readonly clock: Pick<Clock, "now" | "monotonic">; readonly timers: Pick<Timers, "after"> },
    read: ReadRow,
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#read = read;
  }

  /** The number of the last message. */
  get seq(): number {
    return this.#seq;
  }

  changed(kind: Kind, key: string): void {
    const keys = this.#changed.get(kind) ?? new Set();
    keys.add(key);
    this.#changed.set(kind, keys);
    this.#cancel ??= this.#timers.after(GATHERED, this.#publish);
  }

  /** The messages after that one; undefined: some of them are no longer kept, or it is none of this feed's. */
  after(seq: number): readonly DashboardMessage[] | undefined {
    const oldest = this.#seq - this.#retained.length;
    return seq < oldest || seq > this.#seq
      ? undefined
      : this.#retained.slice(seq - oldest).map(({ message }) => message);
  }

  /** Calls the listener after each message, until what is returned is called. */
  onMessage(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Somebody begins to read all rows; what is returned says that it has ended. */
  beginSnapshot(): () => void {
    this.#snapshots += 1;
    this.#lastSent.clear();
    return () => {
      this.#snapshots -= 1;
    };
  }

  /** Forgets all but the numbers: nobody looks any more. What changes meanwhile is nobody's to tell, so that all begin anew. */
  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#changed.clear();
    this.#lastSent.clear();
    this.#retained = [];
    this.#size = 0;
    this.#seq += 1;
  }

  readonly #publish = (): void => {
    this.#cancel = undefined;
    const set: DashboardRow[] = [];
    const gone: { kind: Kind; key: string }[] = [];
    const began = this.#clock.monotonic();
    for (const [kind, keys] of this.#changed) {
      for (const key of keys) {
        keys.delete(key);
        const value = this.#read(kind, key);
        if (this.#isNews(kind, key, value)) {
          if (value === undefined) {
            gone.push({ kind, key });
          } else {
            set.push({ kind, key, value } as DashboardRow);
          }
        }
        if (this.#clock.monotonic() - began > SLICE) {
          break;
        }
      }
      if (this.#clock.monotonic() - began > SLICE) {
        break;
      }
    }
    if ([...this.#changed.values()].some(({ size }) => size > 0)) {
      this.#cancel = this.#timers.after(SOON, this.#publish);
    }
    if (set.length + gone.length > 0) {
      this.#keep({ seq: this.#seq + 1, at: this.#clock.now(), set, gone });
    }
  };

  #isNews(kind: Kind, key: string, value: unknown): boolean {
    const name = `${kind} ${key}`;
    // Nothing is remembered of what is gone, nor of requests, each of which comes once: there is no end of them.
    if (value === undefined || kind === "request") {
      this.#lastSent.delete(name);
      return true;
    }
    if (this.#snapshots > 0) {
      return true;
    }
    const text = JSON.stringify(value);
    if (this.#lastSent.get(name) === text) {
      return false;
    }
    this.#lastSent.set(name, text);
    return true;
  }

  #keep(message: DashboardMessage): void {
    this.#seq = message.seq;
    const size = JSON.stringify(message).length;
    this.#retained.push({ message, size });
    this.#size += size;
    while (this.#size > MAX_RETAINED_CHARS) {
      this.#size -= this.#retained.shift()?.size ?? 0;
    }
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

/** Several messages as one. */
export function joinMessages(messages: readonly DashboardMessage[]): DashboardMessage | undefined {
  const last = messages.at(-1);
  if (last === undefined || messages.length === 1) {
    return last;
  }
  const rows = new Map<string, DashboardRow | { readonly kind: Kind; readonly key: string }>();
  for (const { set, gone } of messages) {
    for (const row of [...set, ...gone]) {
      rows.set(`${row.kind} ${row.key}`, row);
    }
  }
  const all = [...rows.values()];
  return {
    ...last,
    set: all.filter((row): row is DashboardRow => "value" in row),
    gone: all.filter((row) => !("value" in row)),
  };
}
