import { recordedCaller } from "../../../conductor-client/methods/recorded-caller.js";
import { FieldChecks, wrongField } from "../../../control-plane/conductor/field-checks.js";
import type { FieldMap } from "../../../records/field.js";
import {
  amount,
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

/** Characters of a cluster file: one of ten thousand hosts has a few MiB. */
const MAX_CLUSTER_FILE_CHARS = 64 * 1024 * 1024;
/** Words of a command; it may name each of ten thousand hosts. */
const MAX_COMMAND_WORDS = 10_100;

/** What a header's value may be, as it is sent and received. */
const header = matching("^[\\t\\x20-\\x7e\\x80-\\xff]*$", "the value of a header", LONG);

const word = matching("^[^\\0]*$", "a word without the character 0", LONG);

/** The fields of each kind of line. What else stands there is left out; bodies may be anything. */
const LINES = {
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

export type LineKind = keyof typeof LINES;

/** Checks lines of recordings; what they hold was written by others. */
export class RecordingLines {
  readonly #checks = new FieldChecks();
  readonly #compiled = new Map<LineKind, ReturnType<FieldChecks["compile"]>>();

  /** @returns what is wrong with the line; undefined: it is one of this kind */
  wrongIn(kind: LineKind, line: Readonly<Record<string, unknown>>): string | undefined {
    const check = this.#compiled.get(kind) ?? this.#checks.compile(object(LINES[kind]));
    this.#compiled.set(kind, check);
    const known = Object.keys(LINES[kind]).filter((field) => line[field] !== undefined);
    return check(Object.fromEntries(known.map((field) => [field, line[field]])))
      ? undefined
      : wrongField(check, kind).text;
  }
}
