import { getAggregates, putAggregates } from "../handlers/aggregates.js";
import {
  listConsumerAllocations,
  listProviderAllocations,
  postAllocations,
  putAllocations,
  removeAllocations,
} from "../handlers/allocations.js";
import { listCandidates } from "../handlers/candidates.js";
import { listClasses, postClass, putClass, removeClass, showClass } from "../handlers/classes.js";
import {
  listInventories,
  postInventory,
  putInventories,
  putInventory,
  removeInventories,
  removeInventory,
  showInventory,
} from "../handlers/inventories.js";
import { listProviders, postProvider, putProvider, removeProvider, showProvider } from "../handlers/providers.js";
import { reshape } from "../handlers/reshaper.js";
import {
  listProviderTraits,
  listTraits,
  putProviderTraits,
  putTrait,
  removeProviderTraits,
  removeTrait,
  showTrait,
} from "../handlers/traits.js";
import { listProviderUsages, listTotalUsages } from "../handlers/usages.js";
import type { Call, HandlerResponse } from "./call.js";
import { MAX_MINOR } from "./headers.js";

const DOCUMENT = JSON.stringify({
  versions: [
    {
      id: "v1.0",
      max_version: `1.${MAX_MINOR}`,
      min_version: "1.0",
      status: "CURRENT",
      links: [{ rel: "self", href: "" }],
    },
  ],
});

export interface Endpoint {
  readonly handler: (call: Call) => HandlerResponse;
  /** The first microversion that supports the endpoint. */
  readonly since: number;
  /** The status for earlier microversions. */
  readonly earlier: 404 | 405;
  /**
   * Whether the endpoint responds with JSON or accepts it. Clients that do not support JSON get 406 or 415, before
   * `jsonUntil`.
   */
  readonly json: "none" | "answers" | "takes";
  readonly jsonUntil: number;
  /** Checks the content type before the microversion. */
  readonly contentFirst: boolean;
}

interface Route {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** The value of `allow` in a 405. */
  readonly allow: string;
}

function on(handler: Endpoint["handler"], json: Endpoint["json"], options: Partial<Endpoint> = {}): Endpoint {
  return {
    handler,
    json,
    since: 0,
    earlier: 404,
    jsonUntil: Number.POSITIVE_INFINITY,
    contentFirst: false,
    ...options,
  };
}

const ENDPOINTS: Readonly<Record<string, Readonly<Record<string, Endpoint>>>> = {
  "/": { GET: on(home, "none") },
  "": { GET: on(home, "none") },
  "/resource_classes": {
    GET: on(listClasses, "answers", { since: 2 }),
    POST: on(postClass, "takes", { since: 2 }),
  },
  "/resource_classes/*": {
    GET: on(showClass, "answers", { since: 2 }),
    PUT: on(putClass, "takes", { since: 2, jsonUntil: 7 }),
    DELETE: on(removeClass, "none", { since: 2 }),
  },
  "/resource_providers": { GET: on(listProviders, "answers"), POST: on(postProvider, "takes") },
  "/resource_providers/*": {
    GET: on(showProvider, "answers"),
    DELETE: on(removeProvider, "none"),
    PUT: on(putProvider, "takes"),
  },
  "/resource_providers/*/inventories": {
    GET: on(listInventories, "answers"),
    POST: on(postInventory, "takes"),
    PUT: on(putInventories, "takes"),
    DELETE: on(removeInventories, "none", { since: 5, earlier: 405 }),
  },
  "/resource_providers/*/inventories/*": {
    GET: on(showInventory, "answers"),
    PUT: on(putInventory, "takes"),
    DELETE: on(removeInventory, "none"),
  },
  "/resource_providers/*/usages": { GET: on(listProviderUsages, "answers") },
  "/resource_providers/*/aggregates": {
    GET: on(getAggregates, "answers", { since: 1, contentFirst: true }),
    PUT: on(putAggregates, "takes", { since: 1, contentFirst: true }),
  },
  "/resource_providers/*/allocations": { GET: on(listProviderAllocations, "answers") },
  "/allocations": { POST: on(postAllocations, "takes", { since: 13 }) },
  "/allocations/*": {
    GET: on(listConsumerAllocations, "answers"),
    PUT: on(putAllocations, "takes"),
    DELETE: on(removeAllocations, "none"),
  },
  "/allocation_candidates": { GET: on(listCandidates, "answers", { since: 10 }) },
  "/traits": { GET: on(listTraits, "answers", { since: 6 }) },
  "/traits/*": {
    GET: on(showTrait, "none", { since: 6 }),
    PUT: on(putTrait, "none", { since: 6 }),
    DELETE: on(removeTrait, "none", { since: 6 }),
  },
  "/resource_providers/*/traits": {
    GET: on(listProviderTraits, "answers", { since: 6 }),
    PUT: on(putProviderTraits, "takes", { since: 6 }),
    DELETE: on(removeProviderTraits, "none", { since: 6 }),
  },
  "/usages": { GET: on(listTotalUsages, "answers", { since: 9 }) },
  "/reshaper": { POST: on(reshape, "takes", { since: 30 }) },
};

const ROUTES: ReadonlyMap<string, Route> = new Map(
  Object.entries(ENDPOINTS).map(([pattern, methods]) => [
    pattern,
    { endpoints: new Map(Object.entries(methods)), allow: Object.keys(methods).join(", ") },
  ]),
);

export interface Match {
  readonly route: Route;
  readonly params: readonly string[];
}

const COLLECTIONS = new Set(["resource_classes", "resource_providers", "allocations", "traits"]);

/** Returns the route of a decoded path. Its second and fourth segments are variable. */
export function matchRoute(path: string): Match | undefined {
  const exact = ROUTES.get(path);
  if (exact !== undefined) {
    return { route: exact, params: [] };
  }
  const segments = path.split("/");
  // Indexing instead of destructuring, which would create an iterator for each request.
  const collection = segments[1] ?? "";
  const id = segments[2] ?? "";
  const sub = segments[3];
  const name = segments[4];
  if (!COLLECTIONS.has(collection) || id === "" || segments.length > 5 || name === "") {
    return undefined;
  }
  const below = sub === undefined ? "" : `/${sub}`;
  const route = ROUTES.get(`/${collection}/*${below}${name === undefined ? "" : "/*"}`);
  return route === undefined ? undefined : { route, params: name === undefined ? [id] : [id, name] };
}

function home(call: Call): HandlerResponse {
  return { body: DOCUMENT, modified: call.unit.now };
}
