import type { Random } from "../../../runtime/cryptography.js";
import type { ServiceRequest } from "../../../runtime/http-server.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { dictOf, parsePythonJson, toPlain } from "../../python/json.js";
import { isHyphenatedUuid, isUuidLike } from "../../python/uuid.js";
import type { Action } from "../auth.js";
import { NotFound, type Provider } from "../model.js";
import type { PlacementTuning } from "../options.js";
import type { Changing } from "../store/state.js";
import { type Schema, validatorFor } from "./json-schema.js";
import { explain } from "./json-schema-errors.js";

/** The parameters of a query string, in order, including repeated ones. */
export class Query {
  readonly entries: readonly (readonly [string, string])[];

  /** @throws {HttpError} 400 if a part is not UTF-8. */
  constructor(query: string) {
    this.entries = query === "" ? [] : parse(query);
  }

  has(name: string): boolean {
    return this.entries.some(([key]) => key === name);
  }

  /** Returns the last value of a parameter. */
  get(name: string): string | undefined {
    for (let i = this.entries.length - 1; i >= 0; i -= 1) {
      const entry = this.entries[i];
      if (entry?.[0] === name) {
        return entry[1];
      }
    }
    return undefined;
  }

  all(name: string): string[] {
    return this.entries.filter(([key]) => key === name).map(([, value]) => value);
  }
}

/** The context of a handler: the request and its unit of work. */
export interface Call extends Changing {
  readonly request: ServiceRequest;
  /** The second number of the microversion. */
  readonly minor: number;
  /** The values of the variable path segments. */
  readonly params: readonly string[];
  readonly query: Query;
  /** The path of the mount point, with which absolute paths in responses begin. */
  readonly prefix: string;
  readonly tuning: PlacementTuning;
  readonly random: Random;
  /** @throws {PolicyNotAuthorized} */
  can(action: Action, target?: Readonly<Record<string, string | null | undefined>>): void;
}

/** The token does not permit the action. */
export class PolicyNotAuthorized extends Error {
  override readonly name = "PolicyNotAuthorized";
}

/** The response of a handler. The service adds the headers that all responses have. */
export interface HandlerResponse {
  /** Default 200. */
  readonly status?: number;
  /**
   * JSON; absent: no body. Long bodies consist of pieces, which are snapshots of the state at the time of the response.
   */
  readonly body?: string | readonly string[];
  /** Replaces the body; only for {@link ServiceRequest.takesRecords}. */
  readonly records?: unknown;
  /**
   * Sets Last-Modified (milliseconds since the epoch) and Cache-Control, from microversion 1.15 on. Null: only
   * Cache-Control; absent: neither.
   */
  readonly modified?: number | null;
  /** A path below the mount point. */
  readonly location?: string;
}

export const NO_CONTENT: HandlerResponse = { status: 204 };

/**
 * The length in characters from which errors of a body are no longer explained: an explanation contains the body twice.
 */
const EXPLAINED = 65_536;

/**
 * Parses and validates the body.
 * @throws {HttpError} 400 with the messages of Python's json and jsonschema; 413 if the body exceeds the limits.
 */
export function readJson(call: Call, schema: Schema): unknown {
  const text = call.request.body;
  const excess = excessOf(text, MESSAGE_LIMITS.placement);
  if (excess === "depth") {
    throw badRequest(`Malformed JSON: ${excessText(excess, MESSAGE_LIMITS.placement)}`);
  }
  if (excess) {
    throw new HttpError(413, excessText(excess, MESSAGE_LIMITS.placement));
  }
  const quick = parseQuickly(text);
  if (quick !== undefined && validatorFor(schema)(quick)) {
    return quick;
  }
  try {
    if (quick !== undefined && text.length > EXPLAINED) {
      throw badRequest("JSON does not validate: the body is too large to say where; send less of it to be told.");
    }
    const value = parsePythonJson(text);
    const problem = explain(schema, value, isUuidLike);
    if (problem !== undefined) {
      throw badRequest(`JSON does not validate: ${problem}`);
    }
    return toPlain(value);
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw badRequest(`Malformed JSON: ${error.message}`);
    }
    throw error;
  }
}

function parseQuickly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws {HttpError} 400 if the parameters of the query string are invalid. */
export function checkQuery(call: Call, schema: Schema): void {
  const { entries } = call.query;
  const problem = quickQuery(schema, entries) ? undefined : explain(schema, dictOf(entries), isHyphenatedUuid);
  if (problem !== undefined) {
    throw badRequest(`Invalid query string parameters: ${problem}`);
  }
}

function quickQuery(schema: Schema, entries: readonly (readonly [string, string])[]): boolean {
  const value = Object.fromEntries(entries);
  return validatorFor(schema)(value) && hyphenated(schema).every((name) => isHyphenatedUuid(value[name] ?? NO_UUID));
}

const NO_UUID = "00000000-0000-0000-0000-000000000000";

const HYPHENATED = new WeakMap<Schema, readonly string[]>();

/**
 * Returns the UUID parameters of a schema. The compiled validator accepts any spelling of a UUID, but query parameters
 * need hyphens.
 */
function hyphenated(schema: Schema): readonly string[] {
  let names = HYPHENATED.get(schema);
  if (names === undefined) {
    names = Object.keys(schema.properties ?? {}).filter((name) => schema.properties?.[name]?.format === "uuid");
    HYPHENATED.set(schema, names);
  }
  return names;
}

/** @throws {NotFound} */
export function provider(call: Call, uuid: string): Provider {
  const found = call.state.providers.get(uuid);
  if (found === undefined) {
    throw new NotFound(`No resource provider with uuid ${uuid} found`);
  }
  return found;
}

/** Returns the latest `updated_at or created_at` of the records in a response; `now` if there are none. */
export function latest(
  records: Iterable<{ readonly createdAt: number; readonly updatedAt?: number | null }>,
  now: number,
): number {
  let found = 0;
  for (const { createdAt, updatedAt } of records) {
    found = Math.max(found, updatedAt ?? createdAt);
  }
  return found === 0 ? now : found;
}

export function jsonObject(members: Iterable<readonly [string, string]>): string {
  const parts: string[] = [];
  for (const [key, value] of members) {
    parts.push(`${JSON.stringify(key)}:${value}`);
  }
  return `{${parts.join(",")}}`;
}

function parse(query: string): (readonly [string, string])[] {
  return query
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=");
      return equals < 0 ? [decode(part), ""] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))];
    });
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) {
    return spaced;
  }
  // A percent sign that does not start an escape is literal.
  const escaped = spaced.replace(/%(?![0-9a-fA-F]{2})/g, "%25");
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw badRequest(`Invalid query string parameters: ${decodeProblem(escaped)}`);
  }
}

/** Returns the message of Python's UTF-8 decoder for the first invalid byte. */
function decodeProblem(text: string): string {
  const bytes = [...text.matchAll(/%([0-9a-fA-F]{2})|[\s\S]/gu)].flatMap((match) =>
    match[1] === undefined ? [...new TextEncoder().encode(match[0])] : [Number.parseInt(match[1], 16)],
  );
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) {
      return utf8Problem(lead, at, "invalid start byte");
    }
    for (let i = 1; i < length; i += 1) {
      const byte = bytes[at + i];
      if (byte === undefined) {
        return utf8Problem(lead, at, "unexpected end of data");
      }
      if (byte < 0x80 || byte > 0xbf) {
        return utf8Problem(lead, at, "invalid continuation byte");
      }
    }
    at += length;
  }
  return "invalid UTF-8";
}

function utf8Problem(byte: number, at: number, reason: string): string {
  return `'utf-8' codec can't decode byte 0x${byte.toString(16).padStart(2, "0")} in position ${at}: ${reason}`;
}
