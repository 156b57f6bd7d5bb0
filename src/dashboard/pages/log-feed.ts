import { batch, signal } from "@preact/signals";
import type { LogBatch, LogEvents, LogRow } from "../wire/logs.js";

/** Maximum number of entries that the page retains. */
const MAX_ENTRIES = 2_000;

export interface LogLine extends LogRow {
  readonly key: string;
}

/** The stream of log entries that match a filter, while it is open. */
export class LogFeed {
  /** Newest first. */
  readonly lines = signal<readonly LogLine[]>([]);
  /** The last entries have arrived. */
  readonly ready = signal(false);
  readonly names = signal<readonly string[]>([]);
  readonly problem = signal<string | null>(null);
  /** Bytes of logs that were searched, if older ones were not; null if all were. */
  readonly searchedBytes = signal<number | null>(null);
  /** Number of entries that the server left out. */
  readonly dropped = signal(0);

  #source: EventSource | null = null;
  #last = 0;

  /** Drops all entries, and requests those that match another filter. */
  open(filter: URLSearchParams): void {
    this.close();
    this.ready.value = false;
    const source = new EventSource(`/window/logs?${filter.toString()}`);
    this.#source = source;
    this.#on(source, "begin", ({ names, problem }) => {
      this.lines.value = [];
      this.dropped.value = 0;
      this.names.value = names;
      this.problem.value = problem;
    });
    this.#on(source, "last", ({ searchedBytes, isComplete, ...entries }) => {
      this.#add(entries);
      this.searchedBytes.value = isComplete ? null : searchedBytes;
      this.ready.value = true;
    });
    this.#on(source, "added", (entries) => {
      this.#add(entries);
    });
    this.#on(source, "bye", () => {
      source.close();
    });
  }

  close(): void {
    this.#source?.close();
    this.#source = null;
  }

  #on<E extends keyof LogEvents>(source: EventSource, name: E, handle: (data: LogEvents[E]) => void): void {
    source.addEventListener(name, (event) => {
      if (source === this.#source) {
        batch(() => {
          handle(JSON.parse((event as MessageEvent<string>).data));
        });
      }
    });
  }

  #add({ rows, dropped }: LogBatch): void {
    const lines = rows.map((row) => {
      this.#last += 1;
      return { ...row, key: `l${this.#last}` };
    });
    this.lines.value = [...lines.reverse(), ...this.lines.value].slice(0, MAX_ENTRIES);
    this.dropped.value += dropped;
  }
}
