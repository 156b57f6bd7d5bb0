import { defined } from "../../../../runtime/collections.js";
import { badRequest, conflict, forbidden, HttpError } from "../../../http/http-error.js";
import type { ComputeNetwork, NamedGroup } from "../../../network/compute-network.js";
import type { RequestedServerPort, ServerNetwork, ServerPort, ServerPorts } from "../../../network/server-ports.js";
import type { Call } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import type { CreateBody } from "../server-schemas.js";

type Server = CreateBody["server"];
type NetworkRequest = Exclude<Server["networks"], string | undefined>[number];

/** The ports that a server gets when it is placed. */
export interface RequestedNetworks {
  readonly ports: readonly RequestedServerPort[];
  /** Ids of the security groups of ports that are created for the server. */
  readonly securityGroups: readonly string[];
}

/**
 * Resolves the requested networks as Nova's `validate_networks` does: lists of networks and ports, `auto` or `none`.
 * Before 2.37 networks are optional; a project without networks gets a server without ports.
 * @throws {HttpError} 400, 403, 409
 */
export function resolveNetworks(
  call: Call,
  { projectId, server, count }: { readonly projectId: string; readonly server: Server; readonly count: number },
): RequestedNetworks {
  const { networks } = server;
  const requests = typeof networks === "string" ? [] : (networks ?? []);
  assertRequests(requests, count);
  const securityGroups = resolveGroups(call.deps, projectId, server.security_groups);
  if (networks === "none") {
    return { ports: [], securityGroups: [] };
  }
  if (requests.length === 0) {
    const network = chooseNetwork(call.deps, projectId, networks === "auto");
    return { ports: network === undefined ? [] : [{ network }], securityGroups };
  }
  const ports = requests.map((request) => resolveRequest(call, request));
  assertRequestsSupported(call, ports);
  return { ports, securityGroups };
}

/** @throws {HttpError} 400 below 2.72 for ports that request resources */
function assertRequestsSupported({ version, deps }: Call, requested: readonly RequestedServerPort[]): void {
  const ids = requested.flatMap(({ port }) => port ?? []);
  if (version < 72 && deps.network.ports.resourceRequests(null, ids).size > 0) {
    throw badRequest(
      "Creating servers with ports having resource requests, like a port with a QoS minimum bandwidth policy, is not " +
        "supported until microversion 2.72.",
    );
  }
}

/** Checks the requests by themselves. @throws {HttpError} 400 */
function assertRequests(requests: readonly NetworkRequest[], count: number): void {
  const ports = new Set<string>();
  for (const { uuid, port, fixed_ip: address } of requests) {
    if (port && ports.has(port)) {
      throw badRequest(`Port ID '${port}' was specified twice: you cannot attach a port multiple times.`);
    }
    ports.add(port ?? "");
    if (port && address !== undefined) {
      throw badRequest(
        `Specified Fixed IP '${address}' cannot be used with port '${port}': the two cannot be specified together.`,
      );
    }
    if (!port && uuid === undefined) {
      throw badRequest("Bad network format: missing 'uuid'");
    }
  }
  if (count > 1 && requests.some(({ fixed_ip: address }) => address !== undefined)) {
    throw badRequest("Failed to launch instances: max_count cannot be greater than 1 if an fixed_ip is specified.");
  }
  if (count > 1 && requests.some(({ port }) => port)) {
    throw badRequest(
      "Failed to launch instances: Unable to launch multiple instances with a single configured port ID. " +
        "Please launch your instance one by one with different ports.",
    );
  }
}

/**
 * Chooses the network of a server that names none: the project's own one, or the only one that is shared with it. Nova
 * counts both together; here a project with a network of its own can be used beside the start network `shared`.
 */
function chooseNetwork({ network }: ComputeDeps, projectId: string, isAuto: boolean): string | undefined {
  const [first, second] = defaultNetworks(network.ports, projectId);
  if (second !== undefined) {
    throw conflict(SEVERAL_NETWORKS);
  }
  if (first !== undefined) {
    assertBootable(first);
    return first.id;
  }
  return isAuto ? autoAllocate(network, projectId) : undefined;
}

export const SEVERAL_NETWORKS = "Multiple possible networks found, use a Network ID to be more specific.";

/** Returns the networks that a project uses without naming one: its own ones, or else those that are shared with it. */
export function defaultNetworks(ports: ServerPorts, projectId: string): readonly ServerNetwork[] {
  const available = ports.networksFor(projectId);
  const own = available.filter((network) => network.projectId === projectId);
  return own.length > 0 ? own : available;
}

function autoAllocate(network: ComputeNetwork, projectId: string): string {
  try {
    return network.autoAllocate(projectId);
  } catch (error) {
    throw error instanceof HttpError
      ? badRequest(`Unable to automatically allocate a network for project ${projectId}`)
      : error;
  }
}

function resolveRequest(call: Call, { uuid = "", port, fixed_ip: address, tag }: NetworkRequest): RequestedServerPort {
  const named = defined({ tag });
  if (port) {
    return { port: freePort(call, port).id, ...named };
  }
  const network = visibleNetwork(call, uuid);
  if (network === undefined) {
    throw badRequest(`Network ${uuid} could not be found.`);
  }
  assertBootable(network);
  assertAttachable(call, network);
  assertFreeAddress(call, network, address);
  return { network: network.id, ...defined({ address }), ...named };
}

/** Returns a network that the caller may see. */
export function visibleNetwork(call: Call, id: string): ServerNetwork | undefined {
  const { projectId } = call.credentials;
  return call.deps.network.ports.network(id.toLowerCase(), { projectId: projectId ?? "", isAdmin: call.isAdmin });
}

function assertBootable({ id, hasSubnets }: ServerNetwork): void {
  if (!hasSubnets) {
    throw badRequest(`Network ${id} requires a subnet in order to boot instances on.`);
  }
}

/** @throws {HttpError} 403 for an external network that is not shared, unless the caller is an administrator */
export function assertAttachable({ isAdmin }: Call, { id, isExternal, isShared }: ServerNetwork): void {
  if (isExternal && !isShared && !isAdmin) {
    throw forbidden(`It is not allowed to create an interface on external network ${id}`);
  }
}

/** @throws {HttpError} 400 */
function assertFreeAddress({ deps }: Call, { id }: ServerNetwork, address: string | undefined): void {
  const user = address === undefined ? undefined : deps.network.ports.withAddress(id, address);
  if (user !== undefined) {
    throw badRequest(`Fixed IP address ${address} is already in use on instance ${user.deviceId}.`);
  }
}

/** Returns a port that the caller may see and that has no device yet. @throws {HttpError} 400, 409 */
export function freePort(call: Call, id: string): ServerPort {
  const port = visiblePort(call, id);
  if (port === undefined) {
    throw badRequest(`Port id ${id} could not be found.`);
  }
  if (port.deviceId !== "") {
    throw conflict(`Port ${id} is still in use.`);
  }
  if (port.ipAllocation === "immediate" && port.fixedIps.length === 0) {
    throw badRequest(`Port ${id} requires a FixedIP in order to be used.`);
  }
  return port;
}

export function visiblePort(call: Call, id: string): ServerPort | undefined {
  const port = call.deps.network.ports.get(id.toLowerCase());
  return port && (call.isAdmin || port.projectId === call.credentials.projectId) ? port : undefined;
}

/**
 * Returns how many servers with these ports the port quota allows, at most `max`. Existing ports do not count. Call it
 * in the transaction that stores the servers.
 * @throws {HttpError} 403 for fewer than `min`
 */
export function serversInPortQuota(
  { store, network }: ComputeDeps,
  projectId: string,
  requested: readonly RequestedServerPort[],
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const newPorts = requested.filter(({ port }) => port === undefined).length;
  if (newPorts === 0) {
    return max;
  }
  const { limit, used } = network.ports.portLimit(projectId);
  if (limit < 0) {
    return max;
  }
  if (used > limit) {
    throw forbidden(`The number of defined ports: ${used} is over the limit: ${limit}`);
  }
  const reserved = store.tasks.countRequestedPorts(projectId);
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

function resolveGroups(deps: ComputeDeps, projectId: string, requested: Server["security_groups"]): readonly string[] {
  const names = requested?.map(({ name = "default" }) => name) ?? ["default"];
  return [...new Set(names)].map((name) => {
    const group = findGroup(deps, projectId, name);
    if (!group) {
      throw badRequest(`Security group ${name} not found for project ${projectId}.`);
    }
    return group.id;
  });
}

/** Returns the project's group with this id or name. @throws {HttpError} 409 if several have the name */
export function findGroup({ network }: ComputeDeps, projectId: string, nameOrId: string): NamedGroup | undefined {
  const [found, second] = network.securityGroups.find(projectId, nameOrId);
  if (second) {
    throw conflict(`Multiple security_group matches found for name '${nameOrId}', use an ID to be more specific.`);
  }
  return found;
}
