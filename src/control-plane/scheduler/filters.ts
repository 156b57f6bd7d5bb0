import { isUp } from "../../conductor-client/liveness.js";
import type { SchedulerFilter } from "../../config/sections/service-options.js";
import { type GroupState, groupRejection } from "./group-placements.js";
import { hasCapabilities, supportsImage } from "./host-requirements.js";
import type { HostState } from "./host-state.js";
import type { ScheduleRequest } from "./schedule-request.js";

export interface FilterContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
  /** Null if the server is in no group. */
  readonly group: GroupState | null;
  /** Enabled filters. */
  readonly filters: ReadonlySet<SchedulerFilter>;
  /** Hosts of the servers that the request's hints name, by hint. */
  readonly hinted: Readonly<Partial<Record<string, ReadonlySet<string>>>>;
  /** Properties of the server's image. */
  readonly image: Readonly<Record<string, string>>;
}

/** Why a host was rejected, worded to follow a count: `2 hosts are down`. */
export type RejectionReason = string;

type Filter = (host: HostState, request: ScheduleRequest, context: FilterContext) => RejectionReason | null;

const OF_POLICY: Readonly<Record<string, SchedulerFilter>> = {
  affinity: "ServerGroupAffinityFilter",
  "anti-affinity": "ServerGroupAntiAffinityFilter",
};

/** Filters in execution order; a host counts under the first one that rejects it. */
const FILTERS = {
  ignoredHosts: ({ node }, { ignoreHosts = [] }) => (ignoreHosts.includes(node.host) ? "ignored" : null),
  requestedDestination({ node }, { requestedHost, requestedNode }) {
    const isOther =
      (requestedHost !== undefined && node.host !== requestedHost) ||
      (requestedNode !== undefined && node.hypervisorHostname !== requestedNode);
    return isOther ? "not the requested one" : null;
  },
  computeService({ service }, _request, context) {
    if (!context.filters.has("ComputeFilter")) {
      return null;
    }
    if (service === null) {
      return "without a compute service";
    }
    if (service.disabled) {
      return "disabled";
    }
    if (service.forcedDown) {
      return "forced down";
    }
    return isUp(service, context) ? null : "down (no heartbeat)";
  },
  availabilityZone({ service }, { spec }) {
    const isOther = spec.availabilityZone !== null && service?.availabilityZone !== spec.availabilityZone;
    return isOther ? `not in availability zone ${spec.availabilityZone}` : null;
  },
  computeCapabilities(host, { spec }, { filters }) {
    const fits = !filters.has("ComputeCapabilitiesFilter") || hasCapabilities(host, spec.flavor.extraSpecs);
    return fits ? null : "without the capabilities that the flavor's extra specs compare";
  },
  imageProperties(host, _request, { filters, image }) {
    const fits = !filters.has("ImagePropertiesFilter") || supportsImage(host, image);
    return fits ? null : "of another architecture, hypervisor type or VM mode than the image requires";
  },
  serverGroup({ node }, _request, { group, filters }) {
    const filter = OF_POLICY[group?.policy ?? ""];
    return filter !== undefined && filters.has(filter) ? groupRejection(node.host, group) : null;
  },
  sameHost({ node }, _request, { filters, hinted: { same_host: hosts } }) {
    const isRejected = filters.has("SameHostFilter") && hosts !== undefined && !hosts.has(node.host);
    return isRejected ? "without a server of same_host" : null;
  },
  differentHost({ node }, _request, { filters, hinted }) {
    const isRejected = filters.has("DifferentHostFilter") && hinted.different_host?.has(node.host) === true;
    return isRejected ? "with a server of different_host" : null;
  },
} satisfies Readonly<Record<string, Filter>>;

const ALL_FILTERS: readonly Filter[] = Object.values(FILTERS);

/** A forced host passes the other filters unchecked, since the operator named it. */
const FORCED_FILTERS: readonly Filter[] = [FILTERS.requestedDestination];

/** Returns the hosts that pass, and the number of rejected hosts by reason. */
export function filterHosts(
  hosts: readonly HostState[],
  request: ScheduleRequest,
  context: FilterContext,
): { readonly passed: readonly HostState[]; readonly rejected: ReadonlyMap<RejectionReason, number> } {
  const filters = request.forced ? FORCED_FILTERS : ALL_FILTERS;
  const rejected = new Map<RejectionReason, number>();
  const passed = hosts.filter((host) => {
    for (const filter of filters) {
      const reason = filter(host, request, context);
      if (reason !== null) {
        rejected.set(reason, (rejected.get(reason) ?? 0) + 1);
        return false;
      }
    }
    return true;
  });
  return { passed, rejected };
}
