import type { ServiceRequest } from "../../runtime/http-server.js";

export interface RoutePattern {
  readonly method: string;
  /** `/servers/:id/action`; a fixed segment wins over a `:name`. */
  readonly path: string;
}

/** A route of a service, with attributes of its own such as the first version that has it. */
interface HandledRoute extends RoutePattern {
  readonly handle: unknown;
}

type WithoutPattern<R extends HandledRoute> = Omit<R, keyof RoutePattern>;

/**
 * Creates routes from a table of handlers by method and path: `"GET /servers/:id": showServer`. A handler with
 * attributes of its own is in an object with them.
 * @param common attributes of all routes; their paths are below `prefix`
 */
export function routes<R extends HandledRoute>(
  table: Readonly<Record<`${R["method"]} /${string}`, R["handle"] | WithoutPattern<R>>>,
  { prefix = "", ...common }: Partial<Omit<WithoutPattern<R>, "handle">> & { readonly prefix?: string } = {},
): readonly R[] {
  return Object.entries(table).map(([pattern, value]) => {
    const [method, path] = pattern.split(" ");
    const own = typeof value === "object" ? value : { handle: value };
    return { method, path: prefix !== "" && path === "/" ? prefix : prefix + path, ...common, ...own } as R;
  });
}

export type RouteMatch<R> =
  | { readonly kind: "found"; readonly route: R; readonly params: Readonly<Record<string, string>> }
  /** The path exists with other methods only. */
  | { readonly kind: "wrong-method"; readonly allowed: readonly string[] }
  | { readonly kind: "unknown" };

interface Node<R> {
  readonly fixed: Map<string, Node<R>>;
  any: Node<R> | undefined;
  readonly routes: Map<string, { readonly route: R; readonly names: readonly string[] }>;
}

/** Finds the route of a request. A trailing slash in the path is ignored. */
export class Router<R extends RoutePattern> {
  readonly #root: Node<R> = newNode();

  constructor(routes: readonly R[]) {
    for (const route of routes) {
      this.#add(route);
    }
  }

  match(method: ServiceRequest["method"], path: string): RouteMatch<R> {
    const values = segments(path);
    for (const [index, segment] of values.entries()) {
      const value = decode(segment);
      if (value === undefined) {
        return { kind: "unknown" };
      }
      values[index] = value;
    }
    const allowed = new Set<string>();
    const found = find(this.#root, method, { values, at: 0, captured: [] }, allowed);
    if (found) {
      return found;
    }
    return allowed.size > 0 ? { kind: "wrong-method", allowed: [...allowed] } : { kind: "unknown" };
  }

  #add(route: R): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of segments(route.path)) {
      if (segment.startsWith(":")) {
        names.push(segment.slice(1));
        node.any ??= newNode();
        node = node.any;
      } else {
        const next = node.fixed.get(segment) ?? newNode<R>();
        node.fixed.set(segment, next);
        node = next;
      }
    }
    if (node.routes.has(route.method)) {
      throw new Error(`duplicate route: ${route.method} ${route.path}`);
    }
    node.routes.set(route.method, { route, names });
  }
}

const newNode = <R>(): Node<R> => ({ fixed: new Map(), any: undefined, routes: new Map() });

const segments = (path: string): string[] => path.split("/").filter((segment) => segment !== "");

function decode(segment: string): string | undefined {
  if (!segment.includes("%")) {
    return segment;
  }
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The position of the search in a path. */
interface Way {
  readonly values: readonly string[];
  /** Index of the next segment. */
  readonly at: number;
  /** Values of the `:name` segments so far. */
  readonly captured: readonly string[];
}

/**
 * Returns the route for the segments. Fixed segments are tried first.
 * @param allowed collects the methods of matching paths without this method
 */
function find<R>(
  node: Node<R>,
  method: string,
  { values, at, captured }: Way,
  allowed: Set<string>,
): Extract<RouteMatch<R>, { readonly kind: "found" }> | undefined {
  const segment = values[at];
  if (segment !== undefined) {
    const fixed = node.fixed.get(segment);
    return (
      (fixed && find(fixed, method, { values, at: at + 1, captured }, allowed)) ??
      (node.any && find(node.any, method, { values, at: at + 1, captured: [...captured, segment] }, allowed))
    );
  }
  const found = node.routes.get(method) ?? (method === "HEAD" ? node.routes.get("GET") : undefined);
  if (!found) {
    for (const other of node.routes.keys()) {
      allowed.add(other);
    }
    return undefined;
  }
  const params: Record<string, string> = {};
  for (const [index, name] of found.names.entries()) {
    params[name] = captured[index] ?? "";
  }
  return { kind: "found", route: found.route, params };
}
