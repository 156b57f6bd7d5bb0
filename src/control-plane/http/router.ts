import type { ServiceRequest } from "../../runtime/http-server.js";

export interface RoutePattern {
  readonly method: string;
  /** `/servers/:id/action`; a fixed segment wins over a `:name`. */
  readonly path: string;
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
    const allowed = new Set<string>();
    const found = segments && find(this.#root, method, { segments, at: 0, captured: [] }, allowed);
    if (found) {
      return found;
    }
    return allowed.size > 0 ? { kind: "wrong-method", allowed: [...allowed] } : { kind: "unknown" };
  }

  #segments(path: string): readonly string[] {
    const segments = path.split("/");
    return this.#isStrict ? segments : segments.filter((segment) => segment !== "");
  }

  #add(route: R): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of this.#segments(route.path)) {
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

/** Returns undefined if a segment is not UTF-8. */
function decodeAll(segments: readonly string[]): readonly string[] | undefined {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** The position of the search in a path. */
interface Way {
  readonly segments: readonly string[];
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
  { segments, at, captured }: Way,
  allowed: Set<string>,
): Extract<RouteMatch<R>, { readonly kind: "found" }> | undefined {
  const segment = segments[at];
  if (segment !== undefined) {
    const fixed = node.fixed.get(segment);
    return (
      (fixed && find(fixed, method, { segments, at: at + 1, captured }, allowed)) ??
      (node.any && segment !== ""
        ? find(node.any, method, { segments, at: at + 1, captured: [...captured, segment] }, allowed)
        : undefined)
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
