import type { Random } from "../../runtime/cryptography.js";
import type { ServiceRequest } from "../../runtime/http-server.js";
import { excessOf, MESSAGE_LIMITS } from "./listener-limits.js";

/** Parameters of a query string in their order. A name may occur several times. */
export class Query {
  readonly entries: readonly (readonly [name: string, value: string])[];

  constructor(entries: Query["entries"]) {
    this.entries = entries;
  }

  has(name: string): boolean {
    return this.entries.some(([key]) => key === name);
  }

  /** Returns the last value of a name, which OpenStack's services use for a parameter that may occur once. */
  get(name: string): string | undefined {
    return this.entries.findLast(([key]) => key === name)?.[1];
  }

  all(name: string): string[] {
    return this.entries.filter(([key]) => key === name).map(([, value]) => value);
  }

  get names(): string[] {
    return [...this.lists().keys()];
  }

  /** Returns all values of each name, in one pass: a query may have thousands of names. */
  lists(): ReadonlyMap<string, readonly string[]> {
    const lists = new Map<string, string[]>();
    for (const [name, value] of this.entries) {
      const list = lists.get(name);
      if (list) {
        list.push(value);
      } else {
        lists.set(name, [value]);
      }
    }
    return lists;
  }
}

export const parseQuery = (text: string): Query["entries"] => (text === "" ? [] : [...new URLSearchParams(text)]);

/**
 * A request with its route's parameters. All services use this one shape, so that V8 optimizes the code that handles
 * it.
 */
export interface RoutedRequest {
  readonly request: ServiceRequest;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** Base of the services' calls: one request to a route. */
export class ServiceCall implements RoutedRequest {
  readonly request: ServiceRequest;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;

  constructor({ request, requestId, params, query }: RoutedRequest) {
    this.request = request;
    this.requestId = requestId;
    this.params = params;
    this.query = query;
  }

  /** Returns the value of a `:name` segment of the route's path. */
  param(name: string): string {
    return this.params[name] ?? "";
  }
}

type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-json" }
  /** The content type is not JSON. */
  | { readonly kind: "other-type"; readonly contentType: string };

export function readJson(request: Pick<ServiceRequest, "body" | "headers">): JsonBody {
  const { body } = request;
  const excess = excessOf(body, MESSAGE_LIMITS.nova);
  if (excess === "bytes" || excess === "members") {
    return { kind: "too-large" };
  }
  if (body === "") {
    return { kind: "empty" };
  }
  const contentType = (request.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
  if (contentType !== "application/json") {
    return { kind: "other-type", contentType };
  }
  if (excess === "depth") {
    return { kind: "not-json" };
  }
  try {
    return { kind: "json", value: JSON.parse(body) };
  } catch {
    return { kind: "not-json" };
  }
}

/** Returns `req-<uuid>`, the id of one request to a service. */
export const newRequestId = (random: Random): string => `req-${random.uuid()}`;

/**
 * Calls `next` with a value, synchronously unless it is a promise. A needless await costs a good part of a small
 * request.
 */
export function atOnce<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
