import { isUp } from "../../conductor/liveness.js";
import type { HostState } from "./host-state.js";
import type { ScheduleRequest } from "./schedule-request.js";

export interface FilterContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
}

/** Why a host cannot be used, in words that follow a count: `2 hosts are down`. */
export type Refusal = string;

type Filter = (host: HostState, request: ScheduleRequest, context: FilterContext) => Refusal | null;

const ignoredHosts: Filter = ({ node }, { ignoreHosts = [] }) => (ignoreHosts.includes(node.host) ? "ignored" : null);

const triedHosts: Filter = ({ node }, { triedHosts: tried = [] }) =>
  tried.includes(node.host) ? "tried already" : null;

const requestedDestination: Filter = ({ node }, { requestedHost, requestedNode }) =>
  (requestedHost !== undefined && node.host !== requestedHost) ||
  (requestedNode !== undefined && node.hypervisorHostname !== requestedNode)
    ? "not the requested one"
    : null;

const computeService: Filter = ({ service }, _request, context) => {
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
};

const availabilityZone: Filter = ({ service }, { spec }) =>
  spec.availabilityZone !== null && service?.availabilityZone !== spec.availabilityZone
    ? `not in availability zone ${spec.availabilityZone}`
    : null;

/** The filters in the order in which they run; the first refusal counts. */
const FILTERS: readonly Filter[] = [ignoredHosts, requestedDestination, triedHosts, computeService, availabilityZone];

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
