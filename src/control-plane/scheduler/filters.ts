import { isUp } from "../../conductor-client/liveness.js";
import type { SchedulerFilter } from "../../config/sections/service-options.js";
import { type GroupState, groupRefusal } from "./group-placements.js";
import { hasCapabilities, supportsImage } from "./host-requirements.js";
import type { HostState } from "./host-state.js";
import type { ScheduleRequest } from "./schedule-request.js";

export interface FilterContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
  /** Null: the server is in no group. */
  readonly group: GroupState | null;
  /** Filters that are on. */
  readonly filters: ReadonlySet<SchedulerFilter>;
  /** Where the servers are that the request's hints name. */
  readonly hinted: Readonly<Partial<Record<string, ReadonlySet<string>>>>;
  /** Properties of the server's image. */
  readonly image: Readonly<Record<string, string>>;
}

/** Why a host cannot be used, in words that follow a count: `2 hosts are down`. */
export type Refusal = string;

type Filter = (host: HostState, request: ScheduleRequest, context: FilterContext) => Refusal | null;

function ignoredHosts({ node }: HostState, { ignoreHosts = [] }: ScheduleRequest): Refusal | null {
  return ignoreHosts.includes(node.host) ? "ignored" : null;
}

function requestedDestination({ node }: HostState, { requestedHost, requestedNode }: ScheduleRequest): Refusal | null {
  const isOther =
    (requestedHost !== undefined && node.host !== requestedHost) ||
    (requestedNode !== undefined && node.hypervisorHostname !== requestedNode);
  return isOther ? "not the requested one" : null;
}

function computeService({ service }: HostState, _request: ScheduleRequest, context: FilterContext): Refusal | null {
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
}

function availabilityZone({ service }: HostState, { spec }: ScheduleRequest): Refusal | null {
  const isOther = spec.availabilityZone !== null && service?.availabilityZone !== spec.availabilityZone;
  return isOther ? `not in availability zone ${spec.availabilityZone}` : null;
}

const OF_POLICY: Readonly<Record<string, SchedulerFilter>> = {
  affinity: "ServerGroupAffinityFilter",
  "anti-affinity": "ServerGroupAntiAffinityFilter",
};

function serverGroup(
  { node }: HostState,
  _request: ScheduleRequest,
  { group, filters }: FilterContext,
): Refusal | null {
  const filter = OF_POLICY[group?.policy ?? ""];
  return filter !== undefined && filters.has(filter) ? groupRefusal(node.host, group) : null;
}

function sameHost({ node }: HostState, _request: ScheduleRequest, { filters, hinted }: FilterContext): Refusal | null {
  const { same_host: hosts } = hinted;
  const isRefused = filters.has("SameHostFilter") && hosts !== undefined && !hosts.has(node.host);
  return isRefused ? "without a server of same_host" : null;
}

function differentHost(
  { node }: HostState,
  _request: ScheduleRequest,
  { filters, hinted }: FilterContext,
): Refusal | null {
  const isRefused = filters.has("DifferentHostFilter") && hinted.different_host?.has(node.host) === true;
  return isRefused ? "with a server of different_host" : null;
}

function computeCapabilities(host: HostState, { spec }: ScheduleRequest, { filters }: FilterContext): Refusal | null {
  const fits = !filters.has("ComputeCapabilitiesFilter") || hasCapabilities(host, spec.flavor.extraSpecs);
  return fits ? null : "without the capabilities that the flavor's extra specs compare";
}

function imageProperties(
  host: HostState,
  _request: ScheduleRequest,
  { filters, image }: FilterContext,
): Refusal | null {
  const fits = !filters.has("ImagePropertiesFilter") || supportsImage(host, image);
  return fits ? null : "of another architecture, hypervisor type or VM mode than the image requires";
}

/** The filters in the order in which they run; the first refusal counts. */
const FILTERS: readonly Filter[] = [
  ignoredHosts,
  requestedDestination,
  computeService,
  availabilityZone,
  computeCapabilities,
  imageProperties,
  serverGroup,
  sameHost,
  differentHost,
];

/** A forced host is not checked: it is named on purpose. */
const FORCED_FILTERS: readonly Filter[] = [requestedDestination];

/** The hosts that pass, and how many were refused for which reason. */
export function filterHosts(
  hosts: readonly HostState[],
  request: ScheduleRequest,
  context: FilterContext,
): { readonly passed: readonly HostState[]; readonly refused: ReadonlyMap<Refusal, number> } {
  const filters = request.forced ? FORCED_FILTERS : FILTERS;
  const refused = new Map<Refusal, number>();
  const passed = hosts.filter((host) => {
    for (const filter of filters) {
      const refusal = filter(host, request, context);
      if (refusal !== null) {
        refused.set(refusal, (refused.get(refusal) ?? 0) + 1);
        return false;
      }
    }
    return true;
  });
  return { passed, refused };
}
