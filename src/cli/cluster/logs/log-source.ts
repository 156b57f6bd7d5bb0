import { ENTRY, type LogText, timeOf } from "./log-entry.js";
import type { LogFile } from "./log-file.js";

/** What one name stands for: a log, or those entries of it that are accepted. */
export class LogSource {
  /** Shown before its entries. */
  readonly name: string;
  readonly #file: Pick<LogFile, "newLines">;
  readonly #accepts: (entry: LogText) => boolean;
  #time = Number.NEGATIVE_INFINITY;
  /** The entry that lines without a beginning of their own belong to was accepted. */
  #wasAccepted = false;

  constructor(name: string, file: Pick<LogFile, "newLines">, accepts: (entry: LogText) => boolean) {
    this.name = name;
    this.#file = file;
    this.#accepts = accepts;
  }

  /** The accepted entries that were added since the last time, oldest first. */
  async *newEntries(): AsyncGenerator<readonly LogText[]> {
    let last: string[] = [];
    for await (const lines of this.#file.newLines()) {
      const entries: LogText[] = [];
      for (const line of lines) {
        if (ENTRY.test(line) && last.length > 0) {
          entries.push(...this.#accepted(last));
          last = [];
        }
        last.push(line);
      }
      yield entries;
    }
    yield last.length === 0 ? [] : this.#accepted(last);
  }

  #accepted(lines: readonly string[]): readonly LogText[] {
    const [first = ""] = lines;
    // A clock that was set back does not change what came after what.
    this.#time = Math.max(this.#time, timeOf(first) ?? this.#time);
    const entry = { time: this.#time, lines };
    this.#wasAccepted = ENTRY.test(first) ? this.#accepts(entry) : this.#wasAccepted;
    return this.#wasAccepted ? [entry] : [];
  }
}

/** An entry with where it comes from. */
export interface NamedEntry extends LogText {
  readonly source: string;
}

/** The new entries of all sources in the order of their times, those of one source in their own; no more is held than is needed. */
export async function* merged(sources: readonly LogSource[]): AsyncGenerator<NamedEntry> {
  const heads = await Promise.all(sources.map((source) => nextHead(source.name, source.newEntries(), [], 0)));
  for (;;) {
    let first = -1;
    for (const [at, head] of heads.entries()) {
      const time = head?.entry.time ?? Number.POSITIVE_INFINITY;
      if (head !== undefined && (first < 0 || time < (heads[first]?.entry.time ?? 0))) {
        first = at;
      }
    }
    const head = heads[first];
    if (head === undefined) {
      return;
    }
    yield { ...head.entry, source: head.name };
    heads[first] = await nextHead(head.name, head.batches, head.batch, head.at + 1);
  }
}

/** The oldest entry of a source that was not given out yet. */
interface Head {
  readonly name: string;
  readonly entry: LogText;
  readonly batches: AsyncGenerator<readonly LogText[]>;
  readonly batch: readonly LogText[];
  readonly at: number;
}

async function nextHead(
  name: string,
  batches: Head["batches"],
  before: readonly LogText[],
  from: number,
): Promise<Head | undefined> {
  let batch = before;
  let at = from;
  for (;;) {
    const entry = batch[at];
    if (entry !== undefined) {
      return { name, entry, batches, batch, at };
    }
    const next = await batches.next();
    if (next.done === true) {
      return undefined;
    }
    batch = next.value;
    at = 0;
  }
}
