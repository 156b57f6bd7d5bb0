import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { LOG_LEVELS } from "../../ui/logging.js";

/** An entry of a log: a line, and the lines that belong to it, such as a stack. */
export interface LogText {
  /** Milliseconds since the epoch; never before the preceding entry. */
  readonly time: number;
  readonly lines: readonly string[];
}

/** Matches the beginning of an entry, in both formats. */
export const ENTRY = /^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\{)/;

/** `2026-11-25 20:13:51.123 4711 INFO [req-…] [instance: …] the message key=value` */
const PRETTY = /^\S+ \S+ (?:(\d+) )?(\w+) (?:\[(req-[^\]\s]*)\] )?(?:\[instance: ([^\]]*)\] )?(.*)$/s;

/** Keys and values at the end of a message. */
const FIELDS = /((?: [\w.-]+=(?:"(?:[^"\\]|\\.)*"|\S+))+)$/;

const FIELD = / ([\w.-]+)=("(?:[^"\\]|\\.)*"|\S+)/g;

/** Maximum characters of a message that is parsed. */
const LONGEST = 8_000;

interface Part {
  readonly path: string;
  readonly inode: number;
  readonly bytes: number;
  readonly changed: number;
}

/** Bytes per read, and bytes of the first read from the end of a file. */
const CHUNK = 128 * 1024;

const LAST_CHUNK = 16 * 1024;

/** Bytes after which a line is split in two. */
const LONGEST_LINE = 1024 * 1024;

/** A log with its rotated files, `x.log.1` or `x.log-20261125`; compressed files are ignored. */
export class LogFile {
  readonly #folder: string;
  readonly #name: string;
  /** Bytes of complete lines that were read, by inode, which a renamed file keeps. */
  readonly #read = new Map<number, number>();
  #isFirst = true;

  /** @param stem file name without extension: `devstack1` */
  constructor(folder: string, stem: string) {
    this.#folder = folder;
    this.#name = `${stem}.log`;
  }

  /**
   * Yields the complete lines added since the last call, oldest first. A file that has become shorter is read from its
   * start.
   */
  async *newLines(): AsyncGenerator<readonly string[]> {
    const parts = await this.#parts();
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    for (const inode of this.#read.keys()) {
      if (!parts.some((part) => part.inode === inode)) {
        this.#read.delete(inode);
      }
    }
    for (const part of parts) {
      const before = this.#read.get(part.inode);
      if (before === undefined && !isFirst && part.path !== join(this.#folder, this.#name)) {
        // A copy made by log rotation: its content was read before the log was truncated.
        this.#read.set(part.inode, part.bytes);
        continue;
      }
      yield* this.#linesOf(part, before === undefined || part.bytes < before ? 0 : before);
    }
  }

  async *#linesOf({ path, inode, bytes }: Part, from: number): AsyncGenerator<readonly string[]> {
    this.#read.set(inode, from);
    if (from === bytes) {
      return;
    }
    const file = await open(path).catch(() => undefined);
    if (file === undefined) {
      return;
    }
    try {
      let rest: Buffer = Buffer.alloc(0);
      for (let at = from; at < bytes; ) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK), 0, Math.min(CHUNK, bytes - at), at);
        if (bytesRead === 0) {
          return;
        }
        at += bytesRead;
        const all = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        const end = all.length > LONGEST_LINE ? all.length : all.lastIndexOf("\n") + 1;
        rest = all.subarray(end);
        this.#read.set(inode, at - rest.length);
        if (end > 0) {
          yield all.subarray(0, end).toString().replace(/\n$/, "").split("\n");
        }
      }
    } finally {
      await file.close();
    }
  }

  /**
   * Yields the complete lines that the log has now: the newest chunk first, the lines of each chunk in order. The next
   * {@link newLines} continues after them, even if the caller takes only some chunks.
   */
  async *linesBackward(): AsyncGenerator<readonly string[]> {
    const parts = await this.#parts();
    this.#isFirst = false;
    for (const { inode, bytes } of parts) {
      this.#read.set(inode, bytes);
    }
    for (const part of parts.toReversed()) {
      yield* this.#linesBackwardOf(part);
    }
  }

  async *#linesBackwardOf({ path, inode, bytes }: Part): AsyncGenerator<readonly string[]> {
    const file = await open(path).catch(() => undefined);
    if (file === undefined) {
      return;
    }
    try {
      let size = LAST_CHUNK;
      let rest: Buffer = Buffer.alloc(0);
      let isLast = true;
      for (let at = bytes; at > 0; size = Math.min(CHUNK, size * 2)) {
        const from = Math.max(0, at - size);
        const { bytesRead, buffer } = await file.read(Buffer.alloc(at - from), 0, at - from, from);
        if (bytesRead < at - from) {
          // The file was truncated meanwhile.
          return;
        }
        let all = Buffer.concat([buffer, rest]);
        at = from;
        if (isLast) {
          const end = all.lastIndexOf("\n") + 1;
          this.#read.set(inode, from + end);
          isLast = end === 0 && all.length <= LONGEST_LINE;
          all = isLast ? all : all.subarray(0, end);
        }
        // The line before the first newline may begin before this chunk.
        const first = all.indexOf("\n") + 1;
        const isCut = at > 0 && all.length <= LONGEST_LINE;
        const begin = isLast ? all.length : at > 0 && first < all.length ? first : isCut ? all.length : 0;
        rest = all.subarray(0, begin);
        if (begin < all.length) {
          yield all.subarray(begin).toString().replace(/\n$/, "").split("\n");
        }
      }
    } finally {
      await file.close();
    }
  }

  async #parts(): Promise<readonly Part[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const found = await Promise.all(names.filter((name) => this.#isPart(name)).map((name) => this.#part(name)));
    return found.filter((part) => part !== undefined).toSorted((one, other) => one.changed - other.changed);
  }

  #isPart(name: string): boolean {
    return name === this.#name || (name.startsWith(this.#name) && /^[.-]\d[\d-]*$/.test(name.slice(this.#name.length)));
  }

  async #part(name: string): Promise<Part | undefined> {
    const path = join(this.#folder, name);
    const found = await stat(path).catch(() => undefined);
    // The current file sorts last, even if modification times are equal.
    return found?.isFile()
      ? {
          path,
          inode: found.ino,
          bytes: found.size,
          changed: name === this.#name ? Number.POSITIVE_INFINITY : found.mtimeMs,
        }
      : undefined;
  }
}

/** The entries of one log that pass a filter. */
export class LogSource {
  /** Printed before its entries. */
  readonly name: string;
  readonly #file: Pick<LogFile, "newLines">;
  readonly #accepts: (entry: LogText) => boolean;
  #time = Number.NEGATIVE_INFINITY;
  /** Whether the last entry was accepted; its continuation lines follow it. */
  #wasAccepted = false;

  constructor(name: string, file: Pick<LogFile, "newLines">, accepts: (entry: LogText) => boolean) {
    this.name = name;
    this.#file = file;
    this.#accepts = accepts;
  }

  /** Yields the accepted entries added since the last call, oldest first. */
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
    // Entries keep their order even if the clock was set back.
    this.#time = Math.max(this.#time, timeOf(first) ?? this.#time);
    const entry = { time: this.#time, lines };
    this.#wasAccepted = ENTRY.test(first) ? this.#accepts(entry) : this.#wasAccepted;
    return this.#wasAccepted ? [entry] : [];
  }
}

/** An entry with the name of its source. */
export interface NamedEntry extends LogText {
  readonly source: string;
}

/**
 * Merges the new entries of all sources by time, keeping the order within each source. Keeps one batch per source in memory.
 */
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

/** The oldest entry of a source that was not yielded yet. */
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

export async function logStems(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const stems = names.map((name) => /^(.+)\.log(?:[.-]\d[\d-]*)?$/.exec(name)?.[1]);
  return [...new Set(stems.filter((stem) => stem !== undefined))].toSorted();
}

/** Returns the time in a line; undefined if it has none. */
export function timeOf(line: string): number | undefined {
  const json = /^\{[^{}]*?"time":(\d+)/.exec(line);
  if (json !== null) {
    return Number(json[1]);
  }
  const stamp = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?/.exec(line);
  if (stamp === null) {
    return undefined;
  }
  // Log lines have local time.
  const [year = 0, month = 1, day, hour, minute, second, milliseconds = 0] = stamp
    .slice(1)
    .map((part) => Number(part ?? 0));
  return new Date(year, month - 1, day, hour, minute, second, milliseconds).getTime();
}

/** Parses an entry of either format for JSON output. */
export function asRecord({ time, lines }: LogText): Readonly<Record<string, unknown>> {
  const [first = "", ...more] = lines;
  const at = Number.isFinite(time) ? new Date(time).toISOString() : null;
  const rest = more.length === 0 ? {} : { more };
  const json = first.startsWith("{") ? parsed(first) : undefined;
  if (json !== undefined) {
    const { time: _time, level, ...fields } = json;
    return { time: at, level: LOG_LEVELS[Number(level)] ?? level, ...fields, ...rest };
  }
  const found = ENTRY.test(first) ? PRETTY.exec(first) : null;
  if (found === null) {
    return { time: at, message: first, ...rest };
  }
  const [, pid, level, requestId, instance, text = ""] = found;
  const tail = text.length > LONGEST ? "" : (FIELDS.exec(text)?.[1] ?? "");
  return {
    time: at,
    level,
    ...(pid === undefined ? {} : { pid: Number(pid) }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(instance === undefined ? {} : { instance }),
    message: text.slice(0, text.length - tail.length),
    ...Object.fromEntries(Array.from(tail.matchAll(FIELD), ([, name = "", value = ""]) => [name, readValue(value)])),
    ...rest,
  };
}

function readValue(text: string): unknown {
  return /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?$|["[{]|(?:true|false|null)$)/.test(text) ? (parsedAny(text) ?? text) : text;
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsedAny(line);
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
}

function parsedAny(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
