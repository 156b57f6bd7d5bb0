import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { isoMicroseconds } from "../http/times.js";
import { pythonRepr } from "../python/repr.js";
import type { Aggregate, AggregateChanges } from "../store/aggregates.js";
import type { Store } from "../store/store.js";
import { allServices, isUp } from "./api/agents.js";
import { type ComputeResponse, type ComputeRoute, requireAdmin, requireReader } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";

/** `[DEFAULT] internal_service_availability_zone`; only administrators see it. */
const INTERNAL = "internal";

export const AVAILABILITY_ZONE_ROUTES = routes<ComputeRoute>({
  "GET /os-availability-zone": (call) => {
    requireReader(call, "os_compute_api:os-availability-zone:list");
    return listZones(call.deps, false);
  },
  "GET /os-availability-zone/detail": (call) => {
    requireAdmin(call, "os_compute_api:os-availability-zone:detail");
    return listZones(call.deps, true);
  },
});

/** Lists the zones. A zone is available if one of its services is enabled. */
async function listZones(deps: ComputeDeps, detail: boolean): Promise<ComputeResponse> {
  const zones = deps.store.services.zones().filter(({ zone }) => detail || zone !== INTERNAL);
  const hosts = detail ? await hostsByZone(deps) : null;
  const ordered = [...zones.filter(({ available }) => available), ...zones.filter(({ available }) => !available)];
  return {
    body: {
      availabilityZoneInfo: ordered.map(({ zone, available }) => ({
        zoneName: zone,
        zoneState: { available },
        hosts: hosts && available ? Object.fromEntries(hosts.get(zone) ?? []) : null,
      })),
    },
  };
}

type Hosts = Map<string, Record<string, Json>>;

/** Returns the hosts with enabled services of each zone. */
async function hostsByZone(deps: ComputeDeps): Promise<ReadonlyMap<string, Hosts>> {
  const zones = new Map<string, Hosts>();
  for await (const services of allServices(deps)) {
    for (const service of services.filter(({ disabled }) => !disabled)) {
      const hosts: Hosts = zones.get(service.availabilityZone) ?? new Map();
      const binaries = hosts.get(service.host) ?? {};
      binaries[service.binary] = {
        available: isUp(deps, service),
        active: true,
        updated_at: service.updatedAt === null ? null : isoMicroseconds(service.updatedAt),
      };
      zones.set(service.availabilityZone, hosts.set(service.host, binaries));
    }
  }
  return zones;
}

/**
 * Checks whether the hosts may be in the availability zone that `metadata` names, if it names one.
 * @returns Nova's message if they may not
 */
export function findZoneRejection(
  store: Pick<Store, "aggregates" | "instances">,
  aggregate: Aggregate,
  metadata: AggregateChanges["metadata"] & object,
  options: { readonly hosts: readonly string[]; readonly noInstances: boolean },
): string | undefined {
  if (!Object.hasOwn(metadata, ZONE)) {
    return undefined;
  }
  const zone = metadata[ZONE];
  if (!zone) {
    return `Aggregate ${aggregate.name} does not support empty named availability zone`;
  }
  const others = store.aggregates
    .list()
    .filter(({ id, hosts }) => id !== aggregate.id && hosts.some((host) => options.hosts.includes(host)))
    .flatMap(({ metadata: theirs }) => theirs[ZONE] ?? [])
    .filter((theirs) => theirs !== zone);
  if (others.length > 0) {
    return `One or more hosts already in availability zone(s) ${pythonRepr(others)}`;
  }
  const moves = options.noInstances && aggregate.metadata[ZONE] !== zone;
  if (moves && options.hosts.some((host) => store.instances.countByHost(host) > 0)) {
    return "One or more hosts contain instances in this zone";
  }
  return undefined;
}

/**
 * Checks that adding the host to the aggregate, or removing it, does not change the availability zone of a server. The
 * default zone counts (Nova's bug 1907775).
 * @returns Nova's message if it does
 */
export function findServersZoneRejection(
  store: Pick<Store, "aggregates" | "instances">,
  { id, metadata }: Aggregate,
  host: string,
  change: "added to" | "removed from",
): string | undefined {
  const zone = metadata[ZONE];
  const servers = zone ? store.instances.countByHost(host) : 0;
  if (!zone || servers === 0) {
    return undefined;
  }
  const others = store.aggregates.byHost(host).filter((other) => change === "added to" || other.id !== id);
  // There is at most one: a host is never in two zones.
  const [otherwise] = others.flatMap(({ metadata: theirs }) => theirs[ZONE] ?? []);
  if (otherwise === zone) {
    return undefined;
  }
  const [from, to] = change === "added to" ? [otherwise, zone] : [zone, otherwise];
  return (
    `The host cannot be ${change} the aggregate as the availability zone of the host would change from ` +
    `'${from ?? "None"}' to '${to ?? "None"}' but the host already has ${servers} instance(s). Changing the AZ of an ` +
    "existing instance is not supported by this action. Move the instances away from this host then try again. If you " +
    "need to move the instances between AZs then you can use shelve_offload and unshelve to achieve this."
  );
}

const ZONE = "availability_zone";
