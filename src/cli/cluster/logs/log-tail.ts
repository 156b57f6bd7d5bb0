import type { LogTail, OpenLogs } from "../../../dashboard/log-stream.js";
import type { LogBatch, LogEvents, LogFilter, LogRow } from "../../../dashboard/wire/logs.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import { LOG_LEVELS } from "../../ui/logging.js";
import { CONTROL_PLANE } from "../host-settings.js";
import { SERVICES, type SelectedLog, selectLogs } from "./find-sources.js";
import { asRecord, ENTRY, LogFile, LogSource, type LogText, type NamedEntry, timeOf } from "./log-source.js";

/** Maximum number of last entries, and of new entries in a batch. */
const MAX_LAST = 1_000;
const MAX_ADDED = 500;
/** Bytes of all logs that are searched for the last entries. */
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;
/** Maximum characters of a line, and number of lines after the first one, that a row has. */
const MAX_LINE_CHARS = 2_000;
const MAX_MORE_LINES = 50;
/** Maximum number of names that a page can choose from. */
const MAX_NAMES = 1_000;

interface LogPlace {
  readonly directory: Parameters<typeof selectLogs>[1]["directory"];
  readonly files: Files;
}

/** Creates a function that opens the logs of a state directory for the dashboard. */
export function openLogTails(place: LogPlace): OpenLogs {
  return async (filter) => {
    const tail = new StateDirLogs(place, filter);
    await tail.open();
    return tail;
  };
}

/** The logs of a state directory, read from their ends. */
class StateDirLogs implements LogTail {
  readonly #place: LogPlace;
  readonly #filter: LogFilter;
  readonly #accepts: (entry: LogText) => boolean;
  /** By name and stem. */
  readonly #logs = new Map<
    string,
    { readonly selected: SelectedLog; readonly file: LogFile; readonly source: LogSource }
  >();
  /** Stems of logs that have changed since they were read; undefined if all may have. */
  #changed: Set<string> | undefined = new Set();
  #unwatch: (() => void) | undefined;
  names: readonly string[] = [];
  problem: string | null = null;

  constructor(place: LogPlace, filter: LogFilter) {
    this.#place = place;
    this.#filter = filter;
    this.#accepts = acceptsOf(filter);
  }

  async open(): Promise<void> {
    const { files, directory } = this.#place;
    try {
      this.#unwatch = files.watch(directory.logs, (names) => {
        for (const name of names ?? []) {
          this.#changed?.add(stemOf(name));
        }
        this.#changed = names === undefined ? undefined : this.#changed;
      });
    } catch {
      // There is no folder of logs yet. Every poll looks for it.
      this.#changed = undefined;
    }
    await this.#select();
    const { selected } = await selectLogs([], this.#place).catch(() => ({ selected: [] }));
    const hosts = selected.map(({ name }) => name).filter((name) => name !== CONTROL_PLANE);
    this.names = [CONTROL_PLANE, ...SERVICES, ...hosts].slice(0, MAX_NAMES);
  }

  close(): void {
    this.#unwatch?.();
  }

  /** Searches all logs in turn, each from its end, until there are enough entries or older ones cannot be among the last. */
  async last(): Promise<LogEvents["last"]> {
    const searches = [...this.#logs.values()].map(
      ({ selected, file }) =>
        new BackwardSearch(selected.name, file, (entry) => selected.accepts(entry) && this.#accepts(entry)),
    );
    let entries: NamedEntry[] = [];
    let searchedBytes = 0;
    let active = searches;
    while (active.length > 0 && searchedBytes < MAX_SEARCHED_BYTES) {
      for (const search of active) {
        entries.push(...(await search.next()));
      }
      entries.sort((one, other) => one.time - other.time);
      entries = entries.slice(-MAX_LAST);
      searchedBytes = searches.reduce((sum, { bytes }) => sum + bytes, 0);
      const oldest = entries.length < MAX_LAST ? Number.NEGATIVE_INFINITY : (entries[0]?.time ?? 0);
      active = active.filter(({ isDone, reached }) => !isDone && reached > oldest);
    }
    await Promise.all(searches.map((search) => search.close()));
    return { rows: entries.map(toRow), dropped: 0, searchedBytes, isComplete: searches.every(({ isDone }) => isDone) };
  }

  async added(): Promise<LogBatch> {
    const changed = this.#changed;
    if (changed?.size === 0) {
      return { rows: [], dropped: 0 };
    }
    this.#changed = this.#unwatch === undefined ? undefined : new Set();
    const known = new Set([...this.#logs.values()].map(({ selected }) => selected.stem));
    if (changed === undefined || [...changed].some((stem) => !known.has(stem))) {
      await this.#select();
    }
    let entries: NamedEntry[] = [];
    let count = 0;
    for (const { selected, source } of this.#logs.values()) {
      if (changed !== undefined && !changed.has(selected.stem)) {
        continue;
      }
      for await (const batch of source.newEntries()) {
        count += batch.length;
        entries.push(...batch.map((entry) => ({ ...entry, source: source.name })));
        entries = entries.length > 2 * MAX_ADDED ? entries.slice(-MAX_ADDED) : entries;
      }
    }
    const last = entries.sort((one, other) => one.time - other.time).slice(-MAX_ADDED);
    return { rows: last.map(toRow), dropped: count - last.length };
  }

  /** Adds logs that are not known yet. */
  async #select(): Promise<void> {
    const { host } = this.#filter;
    try {
      const { selected, missing } = await selectLogs(host === "" ? [] : [host], this.#place);
      this.problem =
        missing.length === 0 ? null : `${host} has no log here: its agent was started elsewhere, and logs there`;
      for (const each of selected) {
        const key = `${each.stem} ${each.name}`;
        if (!this.#logs.has(key)) {
          const file = new LogFile(this.#place.directory.logs, each.stem);
          const source = new LogSource(each.name, file, (entry) => each.accepts(entry) && this.#accepts(entry));
          this.#logs.set(key, { selected: each, file, source });
        }
      }
    } catch (error) {
      this.problem = errorMessage(error);
    }
  }
}

/** Searches a log from its end. */
class BackwardSearch {
  readonly #name: string;
  readonly #chunks: AsyncGenerator<readonly string[]>;
  readonly #accepts: (entry: LogText) => boolean;
  /** Lines of an entry whose first line is in an older chunk. */
  #rest: readonly string[] = [];
  bytes = 0;
  isDone = false;
  /** Time of the oldest entry that was read. */
  reached = Number.POSITIVE_INFINITY;

  constructor(name: string, file: LogFile, accepts: (entry: LogText) => boolean) {
    this.#name = name;
    this.#chunks = file.linesBackward();
    this.#accepts = accepts;
  }

  /** Returns the accepted entries of the next older chunk. */
  async next(): Promise<readonly NamedEntry[]> {
    const { value, done } = await this.#chunks.next();
    if (done === true) {
      this.isDone = true;
      return [];
    }
    this.bytes += value.reduce((sum, line) => sum + line.length + 1, 0);
    const lines = [...value, ...this.#rest];
    const first = lines.findIndex((line) => ENTRY.test(line));
    this.#rest = (first < 0 ? lines : lines.slice(0, first)).slice(0, MAX_MORE_LINES);
    const entries: NamedEntry[] = [];
    for (let at = first; at >= 0 && at < lines.length; ) {
      let end = at + 1;
      while (end < lines.length && !ENTRY.test(lines[end] ?? "")) {
        end += 1;
      }
      const time = timeOf(lines[at] ?? "") ?? this.reached;
      const entry = { time, lines: lines.slice(at, end) };
      if (this.#accepts(entry)) {
        entries.push({ ...entry, source: this.#name });
      }
      at = end;
    }
    this.reached = Math.min(this.reached, timeOf(lines[first] ?? "") ?? this.reached);
    return entries;
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }
}

/** Returns the name of a log from a file name: `devstack1.log.1` is of `devstack1`. */
const stemOf = (name: string): string => name.replace(/\.log(?:[.-]\d[\d-]*)?$/, "");

const SEVERITIES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(LOG_LEVELS).map(([number, name]) => [name, Number(number)]),
);
/** The level of an entry in either format. */
const LEVEL = /^(?:\{[^{}]*?"level":(\d+)|\S+ \S+ (?:\d+ )?([A-Z]+) )/;

function acceptsOf({ level, request, text }: LogFilter): (entry: LogText) => boolean {
  const words = text.toLowerCase();
  const severity = level === "" ? 0 : (SEVERITIES[level] ?? 0);
  return ({ lines }) => {
    const [, number, name = ""] = LEVEL.exec(lines[0] ?? "") ?? [];
    return (
      (severity === 0 || (number === undefined ? (SEVERITIES[name] ?? 0) : Number(number)) >= severity) &&
      (request === "" || lines.some((line) => line.includes(request))) &&
      (words === "" || lines.some((line) => line.toLowerCase().includes(words)))
    );
  };
}

function toRow(entry: NamedEntry): LogRow {
  const { time: _time, level, pid: _pid, request_id: requestId, instance, message, more, ...fields } = asRecord(entry);
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  return {
    at: Number.isFinite(entry.time) ? entry.time : null,
    source: entry.source,
    level: typeof level === "string" ? level : "",
    requestId: typeof requestId === "string" ? requestId : null,
    instance: typeof instance === "string" ? instance : null,
    message: (typeof message === "string" ? message : (entry.lines[0] ?? "")).slice(0, MAX_LINE_CHARS),
    fields: Object.entries(fields).map(([name, value]) => `${name}=${text(value)}`.slice(0, MAX_LINE_CHARS)),
    more: entry.lines.slice(1, 1 + MAX_MORE_LINES).map((line) => line.slice(0, MAX_LINE_CHARS)),
  };
}
