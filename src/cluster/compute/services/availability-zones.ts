import type { Service } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { Answer, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin, requireReader } from "../api/policy.js";
import { isUp } from "./service-status.js";

/** `[DEFAULT] internal_service_availability_zone`; shown to administrators only. */
const INTERNAL = "internal";

export const AVAILABILITY_ZONE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/os-availability-zone",
    answer: (deps, call) => {
      requireReader(call, "os_compute_api:os-availability-zone:list");
      return listZones(deps, false);
    },
  },
  {
    method: "GET",
    path: "/os-availability-zone/detail",
    answer: (deps, call) => {
      requireAdmin(call, "os_compute_api:os-availability-zone:detail");
      return listZones(deps, true);
    },
  },
];

/** A zone is available when one of its services is enabled. */
function listZones(deps: ComputeDeps, detail: boolean): Answer {
  const services = deps.store.services.list();
  const zones = [...new Set(services.map(({ availabilityZone }) => availabilityZone))]
    .filter((zone) => detail || zone !== INTERNAL)
    .map((zone) => {
      const enabled = services.filter((service) => service.availabilityZone === zone && !service.disabled);
      return { zone, enabled, available: enabled.length > 0 };
    });
  const ordered = [...zones.filter(({ available }) => available), ...zones.filter(({ available }) => !available)];
  return {
    body: {
      availabilityZoneInfo: ordered.map(({ zone, enabled, available }) => ({
        zoneName: zone,
        zoneState: { available },
        hosts: detail && available ? hostsOf(deps, enabled) : null,
      })),
    },
  };
}

function hostsOf(deps: ComputeDeps, services: readonly Service[]): Json {
  const hosts = new Map<string, Record<string, Json>>();
  for (const service of services) {
    const binaries = hosts.get(service.host) ?? {};
    binaries[service.binary] = {
      available: isUp(deps, service),
      active: !service.disabled,
      updated_at: service.updatedAt === null ? null : isoMicroseconds(service.updatedAt),
    };
    hosts.set(service.host, binaries);
  }
  return Object.fromEntries(hosts);
}
