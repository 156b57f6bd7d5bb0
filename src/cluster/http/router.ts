import type { ServiceRequest } from "../../runtime/service.js";

export interface RoutePattern {
  readonly method: string;
  /** `/servers/:id/action`; a fixed segment wins over a `:name`. */
  readonly path: string;
}

export type RouteMatch<R> =
  | { readonly kind: "found"; readonly route: R; readonly params: Readonly<Record<string, string>> }
  /** The path is known, with other methods. */
  | { readonly kind: "wrong-method"; readonly allowed: readonly string[] }
  | { readonly kind: "unknown" };

interface Node<R> {
  readonly fixed: Map<string, Node<R>>;
  any: Node<R> | undefined;
  readonly routes: Map<string, { readonly route: R; readonly names: readonly string[] }>;
}

/** Finds the route of a request. A slash at the end of a path means nothing. */
export class Router<R extends RoutePattern> {
  readonly #root: Node<R> = newNode();

  constructor(routes: readonly R[]) {
    for (const route of routes) {
      this.#add(route);
    }
  }

  match(method: ServiceRequest["method"], path: string): RouteMatch<R> {
    const values = segments(path).map(decode);
    if (values.includes(undefined)) {
      return { kind: "unknown" };
    }
    const nodes = candidates(this.#root, values as string[], []);
    for (const { node, captured } of nodes) {
      const found = node.routes.get(method) ?? (method === "HEAD" ? node.routes.get("GET") : undefined);
      if (found) {
        const params = Object.fromEntries(found.names.map((name, index) => [name, captured[index] ?? ""]));
        return { kind: "found", route: found.route, params };
      }
    }
    const allowed = nodes.flatMap(({ node }) => [...node.routes.keys()]);
    return allowed.length > 0 ? { kind: "wrong-method", allowed: [...new Set(allowed)] } : { kind: "unknown" };
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
      throw new Error(`two routes for ${route.method} ${route.path}`);
    }
    node.routes.set(route.method, { route, names });
  }
}

const newNode = <R>(): Node<R> => ({ fixed: new Map(), any: undefined, routes: new Map() });

const segments = (path: string): string[] => path.split("/").filter((segment) => segment !== "");

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** All nodes that the segments lead to, those with more fixed segments first. */
function candidates<R>(
  node: Node<R>,
  rest: readonly string[],
  captured: readonly string[],
): { readonly node: Node<R>; readonly captured: readonly string[] }[] {
  const [segment, ...others] = rest;
  if (segment === undefined) {
    return node.routes.size > 0 ? [{ node, captured }] : [];
  }
  const fixed = node.fixed.get(segment);
  return [
    ...(fixed ? candidates(fixed, others, captured) : []),
    ...(node.any ? candidates(node.any, others, [...captured, segment]) : []),
  ];
}
