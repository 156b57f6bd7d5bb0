import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin, requireReader } from "../api/policy.js";
import { allServices } from "./all-services.js";
import { isUp } from "./service-status.js";

/** `[DEFAULT] internal_service_availability_zone`; shown to administrators only. */
const INTERNAL = "internal";

export const AVAILABILITY_ZONE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/os-availability-zone",
    handle: (deps, call) => {
      requireReader(call, "os_compute_api:os-availability-zone:list");
      return listZones(deps, false);
    },
  },
  {
    method: "GET",
    path: "/os-availability-zone/detail",
    handle: (deps, call) => {
      requireAdmin(call, "os_compute_api:os-availability-zone:detail");
      return listZones(deps, true);
    },
  },
];

/** A zone is available when one of its services is enabled. */
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

/** Names for each zone the hosts with enabled services. */
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
