import type { Random } from "../../../runtime/cryptography.js";
import { badRequest, HttpError, notFound } from "../../http/http-error.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { type Query, type RoutedRequest, ServiceCall } from "../../http/request.js";
import { createCompiler, type Schema, type SchemaVersions, schemaFor } from "../../http/schemas.js";
import type { PolicyAttributes } from "../../policy/rule-parser.js";
import { dictOf, parsePythonJson, toPlain } from "../../python/json.js";
import { isHyphenatedUuid, isUuidLike } from "../../python/uuid.js";
import { PlacementError, type Provider } from "../model.js";
import type { PlacementTuning } from "../options.js";
import type { Changing, State, UnitOfWork } from "../store/state.js";
import { explain } from "./json-schema-errors.js";

/** Compiles the schemas of bodies. What a validator rejects, {@link explain} may accept: Python has more numbers. */
export const compileBody = createCompiler({ formats: { uuid: isUuidLike } });

/** Compiles the schemas of queries, whose UUIDs need hyphens. */
const compileQuery = createCompiler({ formats: { uuid: isHyphenatedUuid } });

/** A request to Placement and its unit of work. */
export class Call extends ServiceCall implements Changing {
  /** The second number of the microversion. */
  readonly minor: number;
  readonly state: State;
  readonly unit: UnitOfWork;
  readonly tuning: PlacementTuning;
  readonly random: Random;
  /** The path of the mount point, with which absolute paths in responses begin. */
  readonly prefix: string;

  constructor(routed: RoutedRequest, context: Pick<Call, "minor" | "state" | "unit" | "tuning" | "random">) {
    super(routed);
    this.minor = context.minor;
    this.state = context.state;
    this.unit = context.unit;
    this.tuning = context.tuning;
    this.random = context.random;
    const { baseUrl } = routed.request;
    const slash = baseUrl.indexOf("/", baseUrl.indexOf("//") + 2);
    this.prefix = slash < 0 ? "" : baseUrl.slice(slash);
  }

  /**
   * Returns the provider that the path names.
   * @param description begins the message of a 404
   * @throws {HttpError | PlacementError} 404, NotFound
   */
  provider(description?: (uuid: string) => string): Provider {
    const uuid = this.param("uuid");
    const found = this.state.providers.get(uuid);
    if (found === undefined) {
      const message = `No resource provider with uuid ${uuid} found`;
      throw description ? notFound(`${description(uuid)}${message}`) : new PlacementError("NotFound", message);
    }
    return found;
  }

  /**
   * Parses and validates the body.
   * @throws {HttpError} 400 with the messages of Python's json and jsonschema; 413 if the body exceeds the limits.
   */
  body<T>(versions: SchemaVersions<T>): T {
    return readJson(this.request.body, schemaFor(versions, this.minor) ?? {}) as T;
  }

  /** @throws {HttpError} 400 if the parameters of the query string are invalid. */
  checkQuery(versions: SchemaVersions<unknown>): void {
    const schema = schemaFor(versions, this.minor) ?? {};
    const { entries } = this.query;
    const isValid = compileQuery(schema)(Object.fromEntries(entries));
    const problem = isValid ? undefined : explain(schema, dictOf(entries), isHyphenatedUuid);
    if (problem !== undefined) {
      throw badRequest(`Invalid query string parameters: ${problem}`);
    }
  }
}

export interface PlacementRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** The policy rule, without the prefix `placement:`. Absent: the route is public. */
  readonly action?: string;
  /** Attributes of the rule's target. Default: the caller's project and user. */
  readonly target?: (call: Call) => PolicyAttributes["target"];
  readonly handle: (call: Call) => HandlerResponse;
  /** The first microversion that supports the route. Default 0. */
  readonly since?: number;
  /** The status for earlier microversions. Default 404. */
  readonly earlier?: 404 | 405;
  /**
   * Whether the response or the request has JSON. Clients that do not support JSON get 406 or 415. Default: the
   * response of GET, the request of POST and PUT.
   */
  readonly json?: "none" | "response" | "request";
  /** The first microversion that does not read the JSON of the request. */
  readonly jsonUntil?: number;
  /** Checks the content type before the microversion. */
  readonly contentFirst?: boolean;
}

export function route(
  method: PlacementRoute["method"],
  path: string,
  action: string,
  handle: PlacementRoute["handle"],
  options: Partial<PlacementRoute> = {},
): PlacementRoute {
  return { method, path, action, handle, ...options };
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

function readJson(text: string, schema: Schema): unknown {
  const excess = excessOf(text, MESSAGE_LIMITS.placement);
  if (excess === "depth") {
    throw badRequest(`Malformed JSON: ${excessText(excess, MESSAGE_LIMITS.placement)}`);
  }
  if (excess) {
    throw new HttpError(413, excessText(excess, MESSAGE_LIMITS.placement));
  }
  const quick = parseQuickly(text);
  if (quick !== undefined && compileBody(schema)(quick)) {
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

/** Parses a query string as Python's WSGI servers do. @throws {HttpError} 400 if a part is not UTF-8 */
export function parseQuery(query: string): Query["entries"] {
  if (query === "") {
    return [];
  }
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
