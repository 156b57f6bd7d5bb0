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

/** A route, and the indexes of the path's segments that are its parameters. */
interface Leaf<R> {
  readonly route: R;
  readonly params: readonly (readonly [name: string, index: number])[];
}

interface Node<R> {
  readonly fixed: Map<string, Node<R>>;
  any: Node<R> | undefined;
  /** By method. */
  readonly leaves: Map<string, Leaf<R>>;
}

/** Finds the route of a request. */
export class Router<R extends RoutePattern> {
  readonly #root: Node<R> = newNode();
  readonly #isStrict: boolean;

  /** @param isStrict an empty segment, as in `/servers/`, matches no `:name`. Otherwise it is ignored */
  constructor(routes: readonly R[], isStrict = false) {
    this.#isStrict = isStrict;
    for (const route of routes) {
      this.#add(route);
    }
  }

  match(method: ServiceRequest["method"], path: string): RouteMatch<R> {
    const segments = path.includes("%") ? decodeAll(this.#segments(path)) : this.#segments(path);
    if (segments === undefined) {
      return { kind: "unknown" };
    }
    const leaf = find(this.#root, method, segments, 0);
    if (leaf === undefined) {
      const allowed = [...new Set(methodsOf(this.#root, segments, 0))];
      return allowed.length > 0 ? { kind: "wrong-method", allowed } : { kind: "unknown" };
    }
    const params: Record<string, string> = {};
    for (const [name, index] of leaf.params) {
      params[name] = segments[index] ?? "";
    }
    return { kind: "found", route: leaf.route, params };
  }

  #segments(path: string): readonly string[] {
    const segments = path.split("/");
    return this.#isStrict ? segments : segments.filter((segment) => segment !== "");
  }

  #add(route: R): void {
    let node = this.#root;
    const params: [string, number][] = [];
    for (const [index, segment] of this.#segments(route.path).entries()) {
      if (segment.startsWith(":")) {
        params.push([segment.slice(1), index]);
        node.any ??= newNode();
        node = node.any;
      } else {
        const next = node.fixed.get(segment) ?? newNode<R>();
        node.fixed.set(segment, next);
        node = next;
      }
    }
    if (node.leaves.has(route.method)) {
      throw new Error(`duplicate route: ${route.method} ${route.path}`);
    }
    node.leaves.set(route.method, { route, params });
  }
}

const newNode = <R>(): Node<R> => ({ fixed: new Map(), any: undefined, leaves: new Map() });

/** Returns undefined if a segment is not UTF-8. */
function decodeAll(segments: readonly string[]): readonly string[] | undefined {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Returns the route for the segments from an index on. Fixed segments are tried first. */
function find<R>(node: Node<R>, method: string, segments: readonly string[], index: number): Leaf<R> | undefined {
  const segment = segments[index];
  if (segment === undefined) {
    return node.leaves.get(method) ?? (method === "HEAD" ? node.leaves.get("GET") : undefined);
  }
  const fixed = node.fixed.get(segment);
  const leaf = fixed && find(fixed, method, segments, index + 1);
  return leaf ?? (node.any && segment !== "" ? find(node.any, method, segments, index + 1) : undefined);
}

/** Returns the methods of all routes for the segments from an index on. */
function methodsOf<R>(node: Node<R>, segments: readonly string[], index: number): readonly string[] {
  const segment = segments[index];
  if (segment === undefined) {
    return [...node.leaves.keys()];
  }
  return [node.fixed.get(segment), segment === "" ? undefined : node.any].flatMap((next) =>
    next === undefined ? [] : methodsOf(next, segments, index + 1),
  );
}
