import { defined } from "../../../../runtime/collections.js";
import { badRequest, conflict, forbidden, type HttpError } from "../../../http/http-error.js";
import { FLAT_NETWORK } from "../../../network/flat-network.js";
import { portQuota } from "../../../network/quotas.js";
import { addressOf, isInPool } from "../../../store/network-settings.js";
import type { RequestedPort } from "../../../store/ports.js";
import type { Store } from "../../../store/store.js";
import type { Call } from "../../api/call.js";
import type { CreateBody } from "../server-schemas.js";
import { findGroup } from "./security-groups.js";

type Server = CreateBody["server"];
type NetworkRequest = Exclude<Server["networks"], string | undefined>[number];

/** The ports that a server gets when it is placed. */
export interface RequestedNetworks {
  readonly ports: readonly RequestedPort[];
  /** Uuids of the security groups of ports that are created for the server. */
  readonly securityGroups: readonly string[];
}

/**
 * Resolves the requested networks: the flat network, unless the request is `none`. Before 2.37 networks are optional.
 * @throws {HttpError} 400, 409
 */
export function resolveNetworks(
  call: Call,
  { projectId, server, count }: { readonly projectId: string; readonly server: Server; readonly count: number },
): RequestedNetworks {
  const { networks = "auto" } = server;
  const requests = typeof networks === "string" ? [] : networks;
  const ports = requests.map((request) => resolvePort(call, request));
  assertNoDuplicates(requests);
  if (count > 1 && ports.some(({ port }) => port !== undefined)) {
    throw badRequest(
      "Unable to launch multiple instances with a single configured port ID. Please launch your instance one by one with different ports.",
    );
  }
  if (count > 1 && ports.some(({ address }) => address !== undefined)) {
    throw badRequest("max_count cannot be greater than 1 if an fixed_ip is specified.");
  }
  const securityGroups = resolveGroups(call.store, projectId, server.security_groups);
  return networks === "none"
    ? { ports: [], securityGroups: [] }
    : { ports: ports.length === 0 ? [{}] : ports, securityGroups };
}

/**
 * Returns how many servers with these ports the port quota allows, at most `max`. Existing ports do not count. Call it
 * in the transaction that stores the servers.
 * @throws {HttpError} 403 for fewer than `min`
 */
export function serversInPortQuota(
  store: Store,
  projectId: string,
  requested: readonly RequestedPort[],
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const newPorts = requested.filter(({ port }) => port === undefined).length;
  const quota = newPorts === 0 ? null : portQuota(store, projectId);
  if (quota === null) {
    return max;
  }
  const { limit, used, reserved } = quota;
  if (used > limit) {
    throw forbidden(`The number of defined ports: ${used} is over the limit: ${limit}`);
  }
  const allowed = Math.min(max, Math.floor(Math.max(0, limit - used - reserved) / newPorts));
  if (allowed < min) {
    throw portLimitExceeded();
  }
  return allowed;
}

/** Returns Nova's response for a port that Neutron rejects because of the quota. */
export const portLimitExceeded = (): HttpError => forbidden("Maximum number of ports exceeded");

/** Nova's entry in the system metadata of a server with ports. */
export const NETWORK_MARK = { network_allocated: "True" } as const;

export function networkMark({ ports }: RequestedNetworks): Readonly<Record<string, string>> {
  return ports.length === 0 ? {} : NETWORK_MARK;
}

function resolveGroups(store: Store, projectId: string, requestedGroups: Server["security_groups"]): readonly string[] {
  const names = requestedGroups?.map(({ name = "default" }) => name) ?? ["default"];
  return [...new Set(names)].map((name) => {
    const group = findGroup(store, projectId, name);
    if (!group) {
      throw badRequest(`Security group ${name} not found for project ${projectId}.`);
    }
    return group.uuid;
  });
}

function resolvePort(call: Call, request: NetworkRequest): RequestedPort {
  const { uuid, port, fixed_ip: address, tag } = request;
  const named = defined({ tag });
  if (port) {
    if (address !== undefined) {
      throw badRequest(
        `Specified Fixed IP '${address}' cannot be used with port '${port}': the two cannot be specified together.`,
      );
    }
    return { port: freePort(call, port), ...named };
  }
  if (uuid === undefined) {
    throw badRequest("Bad network format: missing 'uuid'");
  }
  if (uuid.toLowerCase() !== FLAT_NETWORK.id) {
    throw badRequest(`Network ${uuid} could not be found.`);
  }
  return { ...(address === undefined ? {} : { address: freeAddress(call.store, address) }), ...named };
}

/** Returns the uuid of a port that the caller may see and that is not attached to a server. @throws {HttpError} 400, 409 */
export function freePort(call: Call, id: string): string {
  const port = call.store.ports.get(id.toLowerCase());
  if (!port || !(call.isAdmin || port.projectId === call.credentials.projectId)) {
    throw badRequest(`Port id ${id} could not be found.`);
  }
  if (port.deviceId !== "") {
    throw conflict(`Port ${id} is still in use.`);
  }
  return port.uuid;
}

function freeAddress(store: Store, text: string): string {
  const address = addressOf(text);
  if (address === undefined || !isInPool(address)) {
    throw badRequest(`Fixed IP ${text} is not a valid ip address for network ${FLAT_NETWORK.id}.`);
  }
  const port = store.ports.withAddress(address);
  if (port) {
    throw badRequest(`Fixed IP address ${text} is already in use on instance ${port.deviceId || "None"}.`);
  }
  return text;
}

function assertNoDuplicates(requests: readonly NetworkRequest[]): void {
  const portsAndAddresses = requests.flatMap(({ port, fixed_ip: address }) => [port, address].filter((one) => one));
  if (new Set(portsAndAddresses).size < portsAndAddresses.length) {
    throw badRequest("Duplicate networks: a port, or a fixed IP, is asked for twice.");
  }
}
