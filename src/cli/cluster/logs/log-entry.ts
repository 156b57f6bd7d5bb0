import { LOG_LEVELS } from "../../ui/log-line.js";

/** What a program wrote to its log at once: a line, and those that belong to it, as of a stack. */
export interface LogText {
  /** Milliseconds since the epoch; never before the entry above it. */
  readonly time: number;
  readonly lines: readonly string[];
}

/** How an entry begins, in both formats. */
export const ENTRY = /^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\{)/;

/** When the line says that it was written; undefined: it does not. */
export function timeOf(line: string): number | undefined {
  const json = /^\{[^{}]*?"time":(\d+)/.exec(line);
  if (json !== null) {
    return Number(json[1]);
  }
  const stamp = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?/.exec(line);
  if (stamp === null) {
    return undefined;
  }
  // Local time, as it was written in.
  const [year = 0, month = 1, day, hour, minute, second, milliseconds = 0] = stamp
    .slice(1)
    .map((part) => Number(part ?? 0));
  return new Date(year, month - 1, day, hour, minute, second, milliseconds).getTime();
}

/** `2026-11-25 20:13:51.123 4711 INFO [req-…] [instance: …] the message key=value` */
const PRETTY = /^\S+ \S+ (?:(\d+) )?(\w+) (?:\[(req-[^\]\s]*)\] )?(?:\[instance: ([^\]]*)\] )?(.*)$/s;
/** Keys and values at the end of a message. */
const FIELDS = /((?: [\w.-]+=(?:"(?:[^"\\]|\\.)*"|\S+))+)$/;
const FIELD = / ([\w.-]+)=("(?:[^"\\]|\\.)*"|\S+)/g;
/** Characters of a message that is taken apart. */
const LONGEST = 8_000;

/** An entry of either format as one for programs. */
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
