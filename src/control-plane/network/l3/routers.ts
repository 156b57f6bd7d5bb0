import { groupBy } from "../../../runtime/collections.js";
import type { Json } from "../../http/json.js";
import { pythonStr } from "../../python/repr.js";
import { and, isOneOf, where } from "../../resources/condition.js";
import type { Behaviour, Computed, NetworkContext } from "../engine/network-context.js";
import { badResource, invalidOperation, networkError } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import { whyForbidden } from "../flavors.js";
import { FLAVORS } from "../resources/flavors.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { CONNTRACK_HELPERS, ROUTERS, type RouterInput, type RouterRecord } from "../resources/routers.js";
import { addExternalGateways, removeExternalGateways, updateExternalGateways } from "./external-gateways.js";
import { addExtraRoutes, normalizeRoutes, removeExtraRoutes, validateRoutes } from "./extra-routes.js";
import { initialNdpProxyState, updatedNdpProxyState } from "./ndp-proxy-state.js";
import { firstGatewayFirst, removeGateways, setGateway, validateGateway } from "./router-gateways.js";
import { addRouterInterface, interfacesOf, removeRouterInterface } from "./router-interfaces.js";
import { deleteRouterPort, portsOfRouters, ROUTER_GATEWAY, type RouterPort } from "./router-ports.js";

export const ROUTER_BEHAVIOUR: Behaviour<typeof ROUTERS.attributes> = {
  prepareCreate(context, input) {
    const id = input.id ?? context.services.random.uuid();
    if (input.flavor_id !== undefined) {
      const flavor = findRecord(context, FLAVORS, pythonStr(input.flavor_id));
      const reason = whyForbidden(context, flavor.id, input);
      if (reason !== undefined) {
        throw invalidOperation(reason);
      }
    }
    const info = input.external_gateway_info ?? null;
    validateGateway(context, { id, routes: [], gw_port_id: null }, info);
    return {
      id,
      status: "ACTIVE",
      enable_snat: true,
      gw_port_id: null,
      gateway_qos_policy_id: null,
      flavor_id: input.flavor_id ?? null,
      routes: [],
      availability_zone_hints: hintsOf(context, input.availability_zone_hints ?? []),
      enable_ndp_proxy: initialNdpProxyState(context, id, input),
      distributed: input.distributed ?? false,
      ha: input.ha ?? false,
      enable_default_route_bfd: input.enable_default_route_bfd ?? false,
      enable_default_route_ecmp: input.enable_default_route_ecmp ?? false,
    };
  },

  afterCreate(context, { id }, { external_gateway_info: info }) {
    context.touch(ROUTERS as never, id);
    if (info?.network_id !== undefined) {
      setGateway(context, id, info);
    }
  },

  prepareUpdate(context, router, changes) {
    const { external_gateway_info: info, external_gateways: _, ...columns } = changes;
    if (changes.routes !== undefined) {
      const routes = normalizeRoutes(changes.routes);
      validateRoutes(context, router.id, routes, portsOfRouters(context, [router.id]));
      context.table(ROUTERS).update(router.id, { routes });
    }
    if (info !== undefined) {
      setGateway(context, router.id, info, changes);
    }
    assertMayChangeKind(router, changes);
    assertFlavorAllows(context, router, changes);
    const ndpState = updatedNdpProxyState(context, router.id, changes.enable_ndp_proxy);
    return {
      ...withoutNulls(columns),
      ...(changes.routes && { routes: normalizeRoutes(changes.routes) }),
      enable_ndp_proxy: ndpState,
    };
  },

  beforeDelete(context, { id }) {
    const interfaces = interfacesOf(context, id);
    if (interfaces.length > 0) {
      throw networkError(409, "RouterInUse", `Router ${id} has ports still attached: ${interfaces.join(", ")}`);
    }
    removeGateways(context, id);
    for (const port of context.table(PORTS).ids(where`device_id = ${id} AND device_owner LIKE 'network:router%'`)) {
      deleteRouterPort(context, port);
    }
  },

  compute: computeRouters,

  actions: {
    add_router_interface: addRouterInterface,
    remove_router_interface: removeRouterInterface,
    add_extraroutes: addExtraRoutes,
    remove_extraroutes: removeExtraRoutes,
    add_external_gateways: addExternalGateways,
    update_external_gateways: updateExternalGateways,
    remove_external_gateways: removeExternalGateways,
  },
};

/** Attributes with which null means that nothing changes. */
const NULL_MEANS_UNCHANGED = ["distributed", "ha", "enable_default_route_bfd", "enable_default_route_ecmp"];

function withoutNulls(changes: RouterInput): RouterInput {
  return Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => !(value === null && NULL_MEANS_UNCHANGED.includes(name))),
  );
}

/** @throws {HttpError} 404 for an unknown zone */
function hintsOf({ services }: NetworkContext, hints: readonly string[]): readonly string[] {
  const { availabilityZone } = services.options;
  const unknown = hints.find((zone) => zone !== availabilityZone);
  if (unknown !== undefined) {
    throw networkError(404, "AvailabilityZoneNotFound", `AvailabilityZone ${unknown} could not be found.`);
  }
  return hints.length === 0 ? [availabilityZone] : hints;
}

/** Routers become distributed, or highly available, only while they were down before the request. */
function assertMayChangeKind(router: RouterRecord, changes: RouterInput): void {
  const { distributed, ha, admin_state_up: isUp = router.admin_state_up } = changes;
  const changesDistribution = distributed !== undefined && distributed !== null && distributed !== router.distributed;
  if (changesDistribution && (router.admin_state_up || isUp)) {
    throw badResource(
      "router",
      "Cannot change the 'distributed' attribute of active routers. Please set router admin_state_up to False prior to upgrade.",
    );
  }
  if (ha !== undefined && ha !== null && ha !== router.ha && (router.admin_state_up || isUp)) {
    throw badResource(
      "router",
      "Cannot change HA attribute of active routers. Please set router admin_state_up to False prior to upgrade.",
    );
  }
}

/** @throws {HttpError} 400 */
function assertFlavorAllows(context: NetworkContext, { flavor_id: flavor }: RouterRecord, changes: RouterInput): void {
  const { distributed, ha } = changes;
  if (flavor === null || ((distributed ?? null) === null && (ha ?? null) === null)) {
    return;
  }
  if (whyForbidden(context, flavor, changes) !== undefined) {
    throw invalidOperation(
      "Changing the 'ha' and 'distributed' attributes on a router associated with a flavor is not supported",
    );
  }
}

function computeRouters(context: NetworkContext, routers: readonly RouterRecord[]): readonly Computed[] {
  const ids = routers.map(({ id }) => id);
  const gateways = groupBy(portsOfRouters(context, ids, [ROUTER_GATEWAY]), ({ routerId }) => routerId);
  const helpers = groupBy(
    context.table(CONNTRACK_HELPERS).find({
      sql: "router_id IN (SELECT value FROM json_each(?))",
      values: [JSON.stringify(ids)],
    }),
    ({ router_id: id }) => id,
  );
  const policies = networksWithPolicy(context, [...gateways.values()].flat());
  return routers.map((router) => {
    const own = firstGatewayFirst(gateways.get(router.id) ?? [], router.gw_port_id);
    const first = own.find(({ id }) => id === router.gw_port_id);
    return {
      external_gateway_info: first ? renderFirstGateway(router, first, policies.has(first.networkId)) : null,
      external_gateways: own.map(renderGateway),
      availability_zones: isScheduled(router, own) ? [context.services.options.availabilityZone] : [],
      conntrack_helpers: (helpers.get(router.id) ?? []).map(({ protocol, port, helper }) => ({
        protocol,
        port,
        helper,
      })),
      enable_ndp_proxy: first !== undefined && router.enable_ndp_proxy === true,
    };
  });
}

function networksWithPolicy(context: NetworkContext, ports: readonly RouterPort[]): ReadonlySet<string> {
  const ids = [...new Set(ports.map(({ networkId }) => networkId))];
  return new Set(context.table(NETWORKS).ids(and(isOneOf("id", ids), where`qos_policy_id IS NOT NULL`)));
}

/** Neutron schedules a router to an agent when it gets a gateway, an interface, or any other change. */
function isScheduled({ revision_number: revision }: RouterRecord, gateways: readonly RouterPort[]): boolean {
  return gateways.length > 0 || revision > 1;
}

function renderGateway({ networkId, fixedIps }: RouterPort) {
  return { network_id: networkId, external_fixed_ips: fixedIps };
}

/** A gateway without a QoS policy of its own shows null if its network has one. */
function renderFirstGateway(router: RouterRecord, port: RouterPort, hasNetworkPolicy: boolean): Json {
  const { gateway_qos_policy_id: policy } = router;
  return {
    ...renderGateway(port),
    enable_snat: router.enable_snat,
    ...((policy !== null || hasNetworkPolicy) && { qos_policy_id: policy }),
  };
}
