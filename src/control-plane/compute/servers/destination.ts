import { defined } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import { DEFAULT_ZONE } from "../../store/services.js";
import { type Call, requireAdmin } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import type { CreateBody } from "./server-schemas.js";

/** The host, node and zone on which a new server has to be placed. */
export interface Destination {
  readonly availabilityZone: string | null;
  /** From the `availability_zone`. The scheduler runs no filters for it. */
  readonly forcedHost?: string;
  readonly forcedNode?: string;
  /** From the request's `host` (since 2.74). The scheduler filters it like any other host. */
  readonly requestedHost?: string;
  readonly requestedNode?: string;
}

const NOT_ALLOWED = "os_compute_api:servers:create:forced_host";
const REQUESTED = "compute:servers:create:requested_destination";

/**
 * Parses `availability_zone` in its forms `zone`, `zone:host`, `zone:host:node` and `zone::node`, and since 2.74 `host`
 * and `hypervisor_hostname`.
 * @throws {HttpError} 400, 403
 */
export function readDestination(call: Call, server: CreateBody["server"]): Destination {
  const { zone, host, node } = parseZone(server.availability_zone);
  const { host: requestedHost, hypervisor_hostname: requestedNode } = server;
  if (host || node) {
    requireAdmin(call, NOT_ALLOWED);
  }
  if (requestedHost !== undefined || requestedNode !== undefined) {
    requireAdmin(call, REQUESTED);
    if (host || node) {
      throw badRequest(
        "One mechanism with host and/or hypervisor_hostname and another mechanism with zone:host:node are mutually exclusive.",
      );
    }
    requireComputeNode(call.deps, requestedHost, requestedNode);
  }
  if (zone !== null && !host && !node) {
    requireZone(call.deps, zone);
  }
  return {
    availabilityZone: host || node ? zoneOfForced(call.deps, zone, host) : zone,
    ...defined({ forcedHost: host, forcedNode: node, requestedHost, requestedNode }),
  };
}

function parseZone(text: string | undefined): {
  readonly zone: string | null;
  readonly host?: string | undefined;
  readonly node?: string | undefined;
} {
  if (text === undefined) {
    return { zone: null };
  }
  const parts = text.split(":");
  if (parts.length > 3) {
    throw badRequest("Invalid input received: Unable to parse availability_zone");
  }
  const [zone, host, node] = parts;
  return { zone: zone || null, host: host || undefined, node: node || undefined };
}

/**
 * Returns the zone to which a server with a forced host is pinned. Another zone than the host's is dropped, as in Nova:
 * with it no later move would find a host (Launchpad bug 1934770).
 * @param host undefined if only the node is forced; then Nova accepts only the default zone
 */
function zoneOfForced(
  { store, logger }: Pick<ComputeDeps, "store" | "logger">,
  zone: string | null,
  host: string | undefined,
): string | null {
  const service = host === undefined ? null : store.services.getByHost(host, "nova-compute");
  const hostZone = service?.availabilityZone ?? DEFAULT_ZONE;
  if (zone === null || zone === hostZone) {
    return zone;
  }
  logger.warn("ignoring the requested availability zone: the forced host is in another one", {
    zone,
    host,
    host_zone: hostZone,
  });
  return null;
}

function requireZone({ store }: Pick<ComputeDeps, "store">, zone: string): void {
  if (!store.services.isComputeZone(zone)) {
    throw badRequest("The requested availability zone is not available");
  }
}

function requireComputeNode(
  { store }: Pick<ComputeDeps, "store">,
  host: string | undefined,
  node: string | undefined,
): void {
  const found =
    host === undefined
      ? store.computeNodes.byHypervisorHostname(node ?? "").length > 0
      : node === undefined
        ? store.computeNodes.byHost(host).length > 0
        : store.computeNodes.getByHostAndNode(host, node) !== null;
  if (!found) {
    throw badRequest(`Compute host ${host ?? node} could not be found.`);
  }
}
