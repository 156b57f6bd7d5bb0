import { isObject } from "../../../runtime/collections.js";
import type { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { pythonRepr } from "../../python/repr.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { unexpectedType } from "../engine/python-values.js";
import { updateRecord, viewsOf } from "../engine/records.js";
import type { Body } from "../engine/validate-attributes.js";
import { parseNetwork } from "../ip/networks.js";
import { type ExtraRoute, ROUTERS, type RouterRecord } from "../resources/routers.js";
import type { SubnetRecord } from "../resources/subnets.js";
import { isInSubnet, type RouterPort, subnetsWithIds } from "./router-ports.js";

/** Neutron's `max_routes`. */
const MAX_ROUTES = 30;

/**
 * Checks that each next hop is on a subnet of the router and is none of its own addresses.
 * @param more further subnets to which the router will be connected
 * @throws {HttpError} 400
 */
export function validateRoutes(
  context: NetworkContext,
  routerId: string,
  routes: readonly ExtraRoute[],
  ports: readonly RouterPort[],
  more: readonly SubnetRecord[] = [],
): void {
  if (routes.length > MAX_ROUTES) {
    throw networkError(
      400,
      "RoutesExhausted",
      `Unable to complete operation for ${routerId}. The number of routes exceeds the maximum ${MAX_ROUTES}.`,
    );
  }
  const addresses = ports.flatMap(({ fixedIps }) => fixedIps);
  const connected = subnetsWithIds(
    context,
    addresses.map(({ subnet_id: id }) => id),
  );
  for (const { nexthop } of routes) {
    if (![...connected, ...more].some((subnet) => isInSubnet(nexthop, subnet))) {
      throw invalidRoutes(routes, "the nexthop is not connected with router");
    }
    if (addresses.some(({ ip_address: address }) => address === nexthop)) {
      throw invalidRoutes(routes, "the nexthop is used by router");
    }
  }
}

function invalidRoutes(routes: readonly ExtraRoute[], reason: string): HttpError {
  return networkError(400, "InvalidRoutes", `Invalid format for routes: ${pythonRepr(routes)}, ${reason}`);
}

/** Returns the routes as Neutron stores them: each once, sorted by destination and next hop. */
export function normalizeRoutes(routes: readonly ExtraRoute[]): readonly ExtraRoute[] {
  const byKey = new Map(
    routes.map(({ destination, nexthop }) => [`${destination} ${nexthop}`, { destination, nexthop }]),
  );
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, route]) => route);
}

/** `PUT /routers/{id}/add_extraroutes`: routes that exist are no error. */
export function addExtraRoutes(context: NetworkContext, router: RouterRecord, body: Body): Json {
  const added = routesOf(body);
  const view = updateRoutes(context, router, [...router.routes, ...added]);
  // Neutron reads the destinations last.
  const invalid = added.find(({ destination }) => parseNetwork(destination) === undefined);
  if (invalid !== undefined) {
    throw networkError(400, "AddrFormatError", `invalid IPNetwork ${invalid.destination}`);
  }
  return view;
}

/** `PUT /routers/{id}/remove_extraroutes`: routes that do not exist are no error. */
export function removeExtraRoutes(context: NetworkContext, router: RouterRecord, body: Body): Json {
  const removed = routesOf(body);
  const remaining = router.routes.filter(
    ({ destination, nexthop }) =>
      !removed.some((route) => route.destination === destination && route.nexthop === nexthop),
  );
  return updateRoutes(context, router, remaining);
}

function updateRoutes(context: NetworkContext, { id }: RouterRecord, routes: readonly ExtraRoute[]): Json {
  return { router: internalView(context, updateRecord(context, ROUTERS, id, { routes: normalizeRoutes(routes) })) };
}

/** Returns all attributes of a router, as Neutron's actions return them: neither policies nor visibility apply. */
export function internalView(context: NetworkContext, router: RouterRecord): Json {
  const [view = {}] = viewsOf(context, ROUTERS as never, [router]);
  const { enable_ndp_proxy: ndp, ...attributes } = view;
  return {
    ...(attributes as Record<string, Json>),
    enable_ndp_proxy: ndp ?? false,
    gw_port_id: router.gw_port_id,
    ha_vr_id: 0,
  };
}

/**
 * Reads the routes of an action. Neutron does not validate them before their use, and fails without them.
 * @throws {HttpError} 400
 */
function routesOf(body: Body): readonly ExtraRoute[] {
  const routes = isObject(body.router) ? body.router.routes : undefined;
  if (!Array.isArray(routes)) {
    throw unexpectedType();
  }
  return routes.map((route: unknown) => {
    const { destination, nexthop } = isObject(route) ? route : {};
    if (typeof destination !== "string" || typeof nexthop !== "string") {
      throw unexpectedType();
    }
    return { destination, nexthop };
  });
}
