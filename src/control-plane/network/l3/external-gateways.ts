import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { NetworkContext, ResourceAction } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { enforceRule } from "../engine/network-policy.js";
import { updateRecord } from "../engine/records.js";
import { VALIDATORS } from "../engine/validators.js";
import { PORTS } from "../resources/ports.js";
import { GATEWAY_KEYS, type GatewayInfo, ROUTERS, type RouterRecord } from "../resources/routers.js";
import { internalView } from "./extra-routes.js";
import {
  createGateway,
  gatewaysOf,
  readRouter,
  removeFurtherGateway,
  removeGateways,
  setGateway,
  validateGateway,
} from "./router-gateways.js";
import type { RouterPort } from "./router-ports.js";

type Action = "add_external_gateways" | "update_external_gateways" | "remove_external_gateways";

/** `PUT /routers/{id}/add_external_gateways` */
export const addExternalGateways = action("add_external_gateways", (context, router, gateways) => {
  addGateways(context, router.id, gateways);
});

/** `PUT /routers/{id}/update_external_gateways`: the router has these gateways, and no others. */
export const updateExternalGateways = action("update_external_gateways", (context, { id }, gateways) => {
  const [first, ...others] = gateways;
  if (first === undefined) {
    validateGateway(context, readRouter(context, id), null);
    removeGateways(context, id);
    return;
  }
  for (const gateway of gateways) {
    validateGateway(context, readRouter(context, id), gateway);
  }
  const existing = match(context, id, first, { isRequired: false });
  if (existing) {
    context.table(ROUTERS).update(id, { gw_port_id: existing.id });
  }
  setGateway(context, id, first);
  const matches = others.map((gateway) => [gateway, match(context, id, gateway, { isRequired: false })] as const);
  for (const [{ external_fixed_ips: addresses = [] }, port] of matches) {
    if (port && addresses.length > 0) {
      updateRecord(context.internal, PORTS, port.id, { fixed_ips: addresses });
    }
  }
  const router = readRouter(context, id);
  const remaining = new Set([router.gw_port_id, ...matches.map(([, port]) => port?.id)]);
  for (const port of gatewaysOf(context, router)) {
    if (!remaining.has(port.id)) {
      removeFurtherGateway(context, id, port);
    }
  }
  addGateways(
    context,
    id,
    matches.filter(([, port]) => port === undefined).map(([gateway]) => gateway),
  );
});

/** `PUT /routers/{id}/remove_external_gateways`: a request names them by network and addresses. */
export const removeExternalGateways = action("remove_external_gateways", (context, router, gateways) => {
  if (gateways.length > 0 && gatewaysOf(context, router).length === 0) {
    throw multihomingError("UnableToRemoveGateways", `Unable to remove extra gateways from a router ${router.id}`);
  }
  for (const gateway of gateways) {
    validateGateway(context, router, gateway);
  }
  const ports = gateways.map((gateway) => match(context, router.id, gateway, { isRequired: true }));
  for (const port of ports) {
    if (port && port.id !== router.gw_port_id) {
      removeFurtherGateway(context, router.id, port);
    }
  }
  if (ports.some((port) => port?.id === router.gw_port_id)) {
    setGateway(context, router.id, null);
  }
});

function action(
  name: Action,
  change: (context: NetworkContext, router: RouterRecord, gateways: readonly GatewayInfo[]) => void,
): ResourceAction<RouterRecord> {
  return (context, router, body) => {
    const gateways = readGateways(body);
    enforceGateways(context, name, router, gateways);
    change(context, router, gateways);
    return { router: internalView(context, updateRecord(context, ROUTERS, router.id, {})) } satisfies Json;
  };
}

/** @throws {HttpError} 400 */
function readGateways(body: Readonly<Record<string, unknown>>): readonly GatewayInfo[] {
  const value = isObject(body.router) ? body.router.external_gateways : undefined;
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw badRequest(`Invalid input for external_gateways. Reason: '${String(value)}' is not a list.`);
  }
  for (const gateway of value) {
    const failure = VALIDATORS["type:dict_or_nodata"]?.(gateway, GATEWAY_KEYS);
    if (failure !== undefined) {
      throw badRequest(`Invalid input for external_gateways. Reason: ${failure}.`);
    }
  }
  return value.filter((gateway: GatewayInfo | null) => gateway?.network_id !== undefined);
}

function enforceGateways(
  context: NetworkContext,
  name: Action,
  router: RouterRecord,
  gateways: readonly GatewayInfo[],
): void {
  const keys = new Set(gateways.flatMap((gateway) => Object.keys(gateway)));
  const rule = `${name}:external_gateways`;
  for (const each of [
    rule,
    ...["network_id", "enable_snat", "external_fixed_ips"]
      .filter((key) => keys.has(key))
      .map((key) => `${rule}:${key}`),
  ]) {
    if (name !== "remove_external_gateways" || each === rule) {
      enforceRule(context, each, ROUTERS as never, router);
    }
  }
}

function addGateways(context: NetworkContext, routerId: string, gateways: readonly GatewayInfo[]): void {
  for (const gateway of gateways) {
    const router = readRouter(context, routerId);
    if (gatewaysOf(context, router).length === 0) {
      setGateway(context, routerId, gateway);
    } else {
      const { network_id: network = "", external_fixed_ips: addresses = [] } = gateway;
      createGateway(context, router, network, addresses, validateGateway(context, router, gateway));
    }
  }
}

/**
 * Returns the gateway to a network that has one of the addresses, or the only one if there are none.
 * @throws {HttpError} if several gateways match, or none does and one is required
 */
function match(
  context: NetworkContext,
  routerId: string,
  { network_id: networkId, external_fixed_ips: addresses = [] }: GatewayInfo,
  { isRequired }: { readonly isRequired: boolean },
): RouterPort | undefined {
  const candidates = gatewaysOf(context, readRouter(context, routerId)).filter((port) => port.networkId === networkId);
  const found =
    addresses.length === 0
      ? candidates
      : candidates.filter(({ fixedIps }) =>
          fixedIps.some(({ ip_address: own }) => addresses.some(({ ip_address: address }) => address === own)),
        );
  const isAmbiguous = addresses.length === 0 && found.length > 1;
  if (isAmbiguous || (isRequired && found.length === 0)) {
    throw multihomingError(
      "UnableToMatchGateways",
      `Unable to match a requested gateway port to existing gateway ports for router ${routerId}`,
    );
  }
  return found[0];
}

/** Neutron maps its exceptions of this extension to no status. */
const multihomingError = (type: string, message: string): Error => networkError(500, type, message);
