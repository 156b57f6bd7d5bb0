import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import type { DashboardMessage, DashboardRow, Kind, Rows } from "./wire/messages.js";

/** Milliseconds for which changes are collected before they are sent in a message. */
const GATHERED = 50;
/** Milliseconds of reading rows for one message; remaining rows go into the next. */
const SLICE = 8;
/** Milliseconds until the next message if the previous one had to leave rows. */
const SOON = 5;
/** Maximum characters of messages that are retained for browsers that reconnect. */
const MAX_RETAINED_CHARS = 8 * 1024 * 1024;

/** Returns undefined if there is no such row any more. */
export type ReadRow = (kind: Kind, key: string) => Rows[Kind] | undefined;

interface RetainedMessage {
  readonly message: DashboardMessage;
  readonly size: number;
}

/**
 * Collects changes and publishes them as messages. A key that changes often is in each message once, with its current
 * row. The latest messages are retained, so that all browsers share one queue of limited size. A slow browser continues
 * from it; one that is too far behind reloads everything.
 */
export class Feed {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #timers: Pick<Timers, "after">;
  readonly #read: ReadRow;
  readonly #changed = new Map<Kind, Set<string>>();
  /**
   * JSON of the last published row, by which unchanged rows are skipped. Not filled while a snapshot is being read,
   * since that may contain newer rows.
   */
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

  /**
   * Returns the messages after that one, or undefined if some are no longer retained or the number is not of this feed.
   */
  after(seq: number): readonly DashboardMessage[] | undefined {
    const oldest = this.#seq - this.#retained.length;
    return seq < oldest || seq > this.#seq
      ? undefined
      : this.#retained.slice(seq - oldest).map(({ message }) => message);
  }

  /** Calls the listener after each message, until the returned function is called. */
  onMessage(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Marks the beginning of a snapshot. The returned function marks its end. */
  beginSnapshot(): () => void {
    this.#snapshots += 1;
    this.#lastSent.clear();
    return () => {
      this.#snapshots -= 1;
    };
  }

  /**
   * Drops all state except the numbers when the last viewer leaves. Since later changes are not recorded, returning
   * viewers reload everything.
   */
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
    // Removed rows and requests are not remembered: each occurs once, and their number is unlimited.
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

/** Joins several messages into one. */
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
