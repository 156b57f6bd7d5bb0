import type { RecordedEvent } from "../../../conductor/methods/cluster.js";
import { administratorIn } from "../../../conductor/methods/recorded-caller.js";
import type { Files } from "../../../runtime/files.js";

/** The version of the file; later ones read it. Until 2 it did not say as whom something was asked. */
export const RECORDING_VERSION = 2;

/** Where the scheduler has put a new server. */
export interface RecordedPlace {
  readonly at: number;
  /** Its id. */
  readonly server: string;
  /** `zone:host` */
  readonly place: string;
}

export type RecordingEvent = RecordedEvent | RecordedPlace;

/** Amounts by resource class, of each consumer, of each provider by its name. */
export type HeldByProvider = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>>;

/** The first line of a file. */
export interface RecordingStart {
  readonly recording: number;
  /** The version of the program that made the recording. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The cluster file of the cluster as it was then. */
  readonly cluster: string;
}

/** The last line; absent: the recording was broken off. */
export interface RecordingEnd {
  readonly end: number;
  readonly held: HeldByProvider;
  /** Events that were lost. */
  readonly lost: number;
}

export interface Recording {
  readonly start: RecordingStart;
  /** In the order in which they came. */
  readonly events: readonly RecordingEvent[];
  readonly end: RecordingEnd | undefined;
}

/** The file is none, or of a later version. */
class RecordingUnusable extends Error {
  override readonly name = "RecordingUnusable";
}

/** Bytes that are read at most. */
const MOST_BYTES = 512 * 1024 * 1024;

/** @throws {RecordingUnusable} {@link FileFailure} */
export async function readRecording(path: string, files: Files): Promise<Recording> {
  const found = await files.stat(path);
  if (found?.kind !== "file" || found.bytes > MOST_BYTES) {
    const what = found === undefined ? "there is no such file" : `found no file of at most ${MOST_BYTES} bytes`;
    throw new RecordingUnusable(`${path}: ${what}; compute-cluster record writes one`);
  }
  const lines = (await files.read(path)).split("\n");
  // A line that is half written was the last one.
  const whole = lines.slice(0, -1).map((text, at) => objectIn(text, `${path}:${at + 1}`));
  const [first, ...rest] = whole;
  const start = first as Partial<RecordingStart> | undefined;
  if (typeof start?.recording !== "number" || typeof start.cluster !== "string" || typeof start.at !== "number") {
    throw new RecordingUnusable(`${path}:1: found no beginning of a recording; compute-cluster record writes one`);
  }
  if (start.recording > RECORDING_VERSION) {
    throw new RecordingUnusable(
      `${path}: found a recording of version ${start.recording}, expected at most ${RECORDING_VERSION}: use version ${start.version} of the program`,
    );
  }
  const last = rest.at(-1);
  const end = last !== undefined && "end" in last ? (last as unknown as RecordingEnd) : undefined;
  const events = rest
    .filter((each) => !("end" in each))
    .map((each, at) => eventIn(each, start.recording === 1, `${path}:${at + 2}`));
  return { start: start as RecordingStart, events: events.toSorted((one, other) => one.at - other.at), end };
}

function objectIn(text: string, where: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Readonly<Record<string, unknown>>;
    }
  } catch {
    // It is said below.
  }
  throw new RecordingUnusable(`${where}: found ${text.slice(0, 40)}, expected a JSON object`);
}

function eventIn(value: Readonly<Record<string, unknown>>, isOld: boolean, where: string): RecordingEvent {
  const { at, run, method, path, status, server, place } = value;
  const event = isOld && method !== undefined ? ofTheFirstVersion(value) : value;
  const isCommand =
    Array.isArray(run) && ["host", "fault"].includes(String(run[0])) && run.every((word) => typeof word === "string");
  const isRequest =
    typeof method === "string" &&
    typeof path === "string" &&
    path.startsWith("/") &&
    typeof status === "number" &&
    typeof event.caller === "object";
  const isPlace = typeof server === "string" && typeof place === "string";
  if (typeof at !== "number" || !(isCommand || isRequest || isPlace)) {
    throw new RecordingUnusable(`${where}: found neither a request nor a command of host or fault with its time`);
  }
  return event as unknown as RecordingEvent;
}

/** It says whose a request was by name alone, and not what they might: the administrator asks, in the project that it was asked in. */
function ofTheFirstVersion(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { user, project, status } = value;
  const left = `it was refused to ${user}, and a recording of version 1 does not say what they might`;
  return {
    ...value,
    caller: administratorIn(typeof project === "string" ? project : "admin"),
    ...(user !== "admin" && status === 403 ? { left } : {}),
  };
}
