import {
  administratorIn,
  RECORDED_DEPTH,
  type RecordedEvent,
  type RecordedRequest,
  recordedCaller,
} from "../../../conductor-client/methods/cluster.js";
import { createSchemaCompiler, wrongField } from "../../../control-plane/conductor/method-checks.js";
import { excessOf, excessText, type MessageLimits } from "../../../control-plane/http/listener-limits.js";
import {
  amount,
  type FieldMap,
  integer,
  LONG,
  listOf,
  mapOf,
  matching,
  name,
  nullable,
  object,
  optional,
  ratio,
  text,
  time,
  uuid,
} from "../../../records/field.js";
import { isObject } from "../../../runtime/collections.js";
import type { Files } from "../../../runtime/files.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";

type LineKind = keyof typeof LINE_FIELDS;

/** Maximum characters of the cluster file; that of ten thousand hosts has a few MiB. */
const MAX_CLUSTER_FILE_CHARS = 64 * 1024 * 1024;

/** Maximum words of a command, which may name each of ten thousand hosts. */
const MAX_COMMAND_WORDS = 10_100;

/** Characters that HTTP allows in the value of a header. */
const header = matching("^[\\t\\x20-\\x7e\\x80-\\xff]*$", "the value of a header", LONG);

const word = matching("^[^\\0]*$", "a word without the character 0", LONG);

/** The fields of each kind of line. Other fields are ignored; bodies may be any JSON. */
const LINE_FIELDS = {
  beginning: { recording: integer(1, 1_000), version: name, at: time, cluster: text(MAX_CLUSTER_FILE_CHARS) },
  command: { at: time, run: listOf(word, MAX_COMMAND_WORDS) },
  place: { at: time, server: uuid, place: name },
  request: {
    at: time,
    caller: nullable(recordedCaller),
    method: matching("^(?!CONNECT$)[A-Z]+(-[A-Z]+)*$", "a method of HTTP", 32),
    path: matching("^/[^\\x00-\\x20\\x7f]*$", "a path that begins with /", LONG),
    version: optional(header),
    contentType: optional(header),
    bytes: optional(integer(0, Number.MAX_SAFE_INTEGER)),
    left: optional(text(LONG)),
    status: integer(100, 599),
  },
  end: { end: time, held: mapOf(mapOf(mapOf(ratio))), lost: amount },
} as const satisfies Readonly<Record<string, FieldMap>>;

/** Validates lines of recordings, whose content is untrusted. */
class RecordingLines {
  readonly #compile = createSchemaCompiler();
  readonly #compiled = new Map<LineKind, ReturnType<ReturnType<typeof createSchemaCompiler>>>();

  /** @returns the problem of the line; undefined if it is a valid line of this kind */
  wrongIn(kind: LineKind, line: Readonly<Record<string, unknown>>): string | undefined {
    const check = this.#compiled.get(kind) ?? this.#compile(object(LINE_FIELDS[kind]));
    this.#compiled.set(kind, check);
    const known = Object.keys(LINE_FIELDS[kind]).filter((field) => line[field] !== undefined);
    return check(Object.fromEntries(known.map((field) => [field, line[field]])))
      ? undefined
      : wrongField(check, kind).text;
  }
}

/** The current version of the file format; older versions can be read. Before version 2, requests had no caller. */
export const RECORDING_VERSION = 2;

/** The host that the scheduler selected for a new server. */
export interface RecordedPlace {
  readonly at: number;
  /** The server's id. */
  readonly server: string;
  /** `zone:host` */
  readonly place: string;
}

type RecordingEvent = RecordedEvent | RecordedPlace;

/** Amounts by resource class, by consumer, by the name of the provider. */
export type RecordedAllocations = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>>;

/** The first line of a file. */
export interface RecordingStart {
  readonly recording: number;
  /** The version of the program that made the recording. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The cluster file of the cluster at the start of the recording. */
  readonly cluster: string;
}

/** The last line of a file; missing if the recording was interrupted. */
export interface RecordingEnd {
  readonly end: number;
  readonly held: RecordedAllocations;
  /** Number of events that were lost. */
  readonly lost: number;
}

export interface Recording {
  readonly start: RecordingStart;
  /** In the order in which they were recorded. */
  readonly events: readonly RecordingEvent[];
  readonly end: RecordingEnd | undefined;
}

/** Maximum size of a recording. */
const MAX_RECORDING_BYTES = 512 * 1024 * 1024;

/** Limits the depth of a line, since it is processed recursively; {@link RECORDED_DEPTH} is that of a body. */
const LINE_LIMITS: MessageLimits = {
  bytes: MAX_RECORDING_BYTES,
  depth: RECORDED_DEPTH + 8,
  members: Number.POSITIVE_INFINITY,
};

const LINES = new RecordingLines();

const DAY = 86_400_000;

/** Maximum duration of a recording in milliseconds, since a replay may wait as long. */
const LONGEST = 366 * DAY;

/** @throws {CommandError} {@link FileFailure} */
export async function readRecording(path: string, files: Files): Promise<Recording> {
  const found = await files.stat(path);
  if (found?.kind !== "file" || found.bytes > MAX_RECORDING_BYTES) {
    const what =
      found === undefined ? "there is no such file" : `expected a file of at most ${MAX_RECORDING_BYTES} bytes`;
    throw new CommandError(ExitCode.usage, `${path}: ${what}; compute-agent record writes one`);
  }
  const lines = (await files.read(path)).split("\n");
  // A last line without a newline is incomplete.
  const completeLines = lines.slice(0, -1).map((line, at) => objectIn(line, `${path}:${at + 1}`));
  const [first = {}, ...rest] = completeLines;
  const rejectInvalidLine = (at: number, wrong: string | undefined): void => {
    if (wrong !== undefined) {
      throw new CommandError(ExitCode.usage, `${path}:${at}: ${wrong}`);
    }
  };
  if (typeof first.recording !== "number") {
    rejectInvalidLine(1, "found no beginning of a recording; compute-agent record writes one");
  }
  if (Number(first.recording) > RECORDING_VERSION) {
    rejectInvalidLine(
      1,
      `found a recording of version ${first.recording}, expected at most ${RECORDING_VERSION}: use version ${String(first.version).slice(0, 40)} of the program`,
    );
  }
  rejectInvalidLine(1, LINES.wrongIn("beginning", first));
  const start = first as unknown as RecordingStart;
  const last = rest.at(-1);
  const end = last !== undefined && "end" in last ? (last as unknown as RecordingEnd) : undefined;
  if (last !== undefined && end !== undefined) {
    rejectInvalidLine(completeLines.length, LINES.wrongIn("end", last));
  }
  const events = (end === undefined ? rest : rest.slice(0, -1)).map((line, at) => {
    const event = start.recording === 1 && "method" in line ? ofTheFirstVersion(line) : line;
    rejectInvalidLine(at + 2, wrongEvent(event, start.at));
    return event as unknown as RecordingEvent;
  });
  return { start, events: events.toSorted((one, other) => one.at - other.at), end };
}

function objectIn(line: string, where: string): Readonly<Record<string, unknown>> {
  const excess = excessOf(line, LINE_LIMITS);
  if (excess !== undefined) {
    throw new CommandError(ExitCode.usage, `${where}: ${excessText(excess, LINE_LIMITS, "line")}`);
  }
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) {
      return value;
    }
  } catch {
    // Handled below.
  }
  throw new CommandError(ExitCode.usage, `${where}: found ${line.slice(0, 40)}, expected a JSON object`);
}

/** @returns the problem of the line; undefined if it is an event */
function wrongEvent(line: Readonly<Record<string, unknown>>, begin: number): string | undefined {
  const kind = "run" in line ? "command" : "method" in line ? "request" : "server" in line ? "place" : undefined;
  if (kind === undefined) {
    return "found neither a request nor a command of host or fault with its time";
  }
  const wrong = LINES.wrongIn(kind, line);
  const { at, run } = line;
  if (wrong === undefined && Array.isArray(run) && !["host", "fault"].includes(String(run[0]))) {
    return `found the command ${String(run[0])}, expected one of host or fault`;
  }
  return wrong === undefined && Number(at) - begin > LONGEST
    ? `found an event ${Math.round((Number(at) - begin) / DAY)} days after the beginning, expected at most ${LONGEST / DAY}`
    : wrong;
}

/**
 * Converts an event of version 1. It names the caller without roles, so the replay uses an administrator of the same
 * project.
 */
function ofTheFirstVersion(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { user, project, status } = value;
  const left = `it was rejected for ${user}, and a recording of version 1 does not have the roles of callers`;
  return {
    ...value,
    caller: administratorIn(typeof project === "string" ? project : "admin"),
    ...(user !== "admin" && status === 403 ? { left } : {}),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the first known host of each server, as `zone:host`, by server id. Recordings of version 1 have only hosts from
 * responses to administrators.
 */
export function firstPlaces(events: readonly RecordingEvent[]): ReadonlyMap<string, string> {
  const recordedEntries = events.flatMap((event) => ("place" in event ? [[event.server, event.place] as const] : []));
  const places = new Map(recordedEntries);
  for (const event of events) {
    if (!("answer" in event) || !event.path.startsWith("/compute/")) {
      continue;
    }
    const { server, servers } = fieldsOf(event.answer);
    for (const found of [server, ...(Array.isArray(servers) ? servers : [])].map(fieldsOf)) {
      const { id, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-AZ:availability_zone": zone } = found;
      if (typeof id === "string" && typeof host === "string" && !places.has(id)) {
        places.set(id, `${typeof zone === "string" && zone !== "" ? zone : "nova"}:${host}`);
      }
    }
  }
  return places;
}

/** Fields of a request that restrict the scheduler's choice. */
const PLACING = ["availability_zone", "host", "hypervisor_hostname", "os:scheduler_hints"];

/**
 * Returns the host that the scheduler selected for a new server, since it chooses randomly among equal hosts. Undefined if
 * the request restricts the host, or the host is unknown.
 */
export function placeOf(event: RecordedRequest, places: ReadonlyMap<string, string>): string | undefined {
  const id = createdServer(event);
  const { server } = fieldsOf(event.body);
  const requestedServer = fieldsOf(server);
  const isSingle = ["min_count", "max_count"].every((key) => Number(requestedServer[key] ?? 1) === 1);
  const isFree = isSingle && !PLACING.some((key) => key in requestedServer);
  return id !== undefined && isFree ? places.get(id) : undefined;
}

/** Returns the body with this availability zone and host. */
export function placedIn(body: unknown, place: string): unknown {
  const { server, ...rest } = fieldsOf(body);
  return { ...rest, server: { ...fieldsOf(server), availability_zone: place } };
}

/** Returns the id of the server that a request created; undefined if it created none. */
export function createdServer({ method, path, answer: response }: RecordedRequest): string | undefined {
  const { id } = fieldsOf(fieldsOf(response).server);
  const isCreation = method === "POST" && /^\/compute\/v2(\.\d)?(\/[^/]+)?\/servers$/.test(path);
  return isCreation && typeof id === "string" ? id : undefined;
}

/** Returns the fields of a response or body; empty if it is not an object. */
function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
