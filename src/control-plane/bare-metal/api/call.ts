import type { ServiceRequest } from "../../../runtime/http-server.js";
import { HttpError } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { pythonRepr, pythonStr } from "../../python/repr.js";
import { isUuidLike, normalizeUuid } from "../../python/uuid.js";

/** A request to Ironic's API. */
export interface IronicCall {
  readonly request: ServiceRequest;
  /** Minor version of the response. */
  readonly minor: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed body; `{}` without one. */
  readonly body: unknown;
  /** URL of the service's root as the client addressed it, without a trailing slash; for links. */
  readonly root: string;
}

export interface IronicResponse {
  readonly status?: number;
  /** Absent for no content. */
  readonly body?: unknown;
  readonly location?: string;
}

export interface IronicRoute {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  /** The first minor version with this path; before it, the path is unknown. */
  readonly from?: number;
  handle(call: IronicCall): IronicResponse | Promise<IronicResponse>;
}

export interface Link {
  readonly href: string;
  readonly rel: string;
}

/** @param path `nodes/<uuid>` */
export function links(root: string, path: string): readonly Link[] {
  return [
    { href: `${root}/v1/${path}`, rel: "self" },
    { href: `${root}/${path}`, rel: "bookmark" },
  ];
}

const TRUE = ["1", "on", "t", "true", "y", "yes"];

const FALSE = ["0", "f", "false", "n", "no", "off"];

const ACCEPTED = [...TRUE, ...FALSE].sort();

/** @throws {HttpError} 400 */
export function booleanArgument(name: string, value: unknown): boolean {
  if (typeof value === "boolean") {
    return value;
  }
  const text = pythonStr(value).trim().toLowerCase();
  if (TRUE.includes(text)) {
    return true;
  }
  if (FALSE.includes(text)) {
    return false;
  }
  const accepted = ACCEPTED.map(pythonRepr).join(", ");
  throw new HttpError(
    400,
    `Invalid ${name}: Unrecognized value ${pythonRepr(pythonStr(value))}, acceptable values are: ${accepted}`,
  );
}

/** @throws {HttpError} 400 */
export function uuidArgument(name: string, value: unknown): string {
  if (typeof value === "string" && isUuidLike(value)) {
    return normalizeUuid(value);
  }
  throw new HttpError(400, `Expected UUID for ${name}: ${typeof value === "string" ? value : pythonRepr(value)}`);
}

export const isMac = (text: string): boolean => /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(text);

/** @throws {HttpError} 400 */
export function macArgument(name: string, value: unknown): string {
  if (typeof value === "string" && isMac(value)) {
    return value.toLowerCase();
  }
  throw new HttpError(
    400,
    `Expected valid MAC address for ${name}: ${typeof value === "string" ? value : pythonRepr(value)}`,
  );
}

/** @throws {HttpError} 400 */
export function integerArgument(name: string, value: unknown): number {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && /^\s*[+-]?\d{1,15}\s*$/.test(text)) {
    return Number(text);
  }
  throw new HttpError(400, `Expected an integer for ${name}: ${typeof value === "string" ? value : pythonRepr(value)}`);
}

/** @throws {HttpError} 400 if the query has other parameters */
export function onlyArguments(query: Query, known: readonly string[]): void {
  const unknown = query.names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new HttpError(400, `Unexpected arguments: ${unknown.join(", ")}`);
  }
}

/** Splits `uuid,name` and removes duplicates; undefined if the parameter is absent. */
export function listArgument(text: string | undefined): readonly string[] | undefined {
  return text === undefined
    ? undefined
    : [
        ...new Set(
          text
            .split(",")
            .map((word) => word.trim().toLowerCase())
            .filter((word) => word !== ""),
        ),
      ];
}
