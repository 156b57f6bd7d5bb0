import { isUp } from "../../conductor/liveness.js";
import { type GroupState, groupRefusal } from "./group-placements.js";
import type { HostState } from "./host-state.js";
import type { ScheduleRequest } from "./schedule-request.js";

export interface FilterContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
  /** Null: the server is in no group. */
  readonly group: GroupState | null;
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

function serverGroup({ node }: HostState, _request: ScheduleRequest, { group }: FilterContext): Refusal | null {
  return groupRefusal(node.host, group);
}

/** The filters in the order in which they run; the first refusal counts. */
const FILTERS: readonly Filter[] = [ignoredHosts, requestedDestination, computeService, availabilityZone, serverGroup];

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
