import type { Service } from "../records/index.js";

/**
 * Returns whether a service counts as alive (spec 1.2). `serviceDownTime` in milliseconds, see {@link effectiveDownTime}.
 */
export function isUp(
  service: Pick<Service, "forcedDown" | "lastSeenUp" | "createdAt">,
  options: { readonly now: number; readonly serviceDownTime: number },
): boolean {
  const lastHeartbeat = service.lastSeenUp ?? service.createdAt;
  return !service.forcedDown && Math.abs(options.now - lastHeartbeat) <= options.serviceDownTime;
}

/**
 * Milliseconds within which a serving agent has sent its first heartbeat, which is due after five seconds (spec 2.1 row 7).
 */
const FIRST_HEARTBEAT_WITHIN_MS = 7_000;

/**
 * Returns whether the scheduler accepts the service's host now, and will continue to while the host's agent serves. Until an
 * agent has sent its first heartbeat, the host has the heartbeat of the previous agent, which must not expire before that.
 * @param startedAt when the serving agent took the host, milliseconds since the epoch; null if unknown
 */
export function isReady(
  service: Pick<Service, "disabled" | "forcedDown" | "lastSeenUp" | "createdAt">,
  startedAt: number | null,
  { now, serviceDownTime }: { readonly now: number; readonly serviceDownTime: number },
): boolean {
  const isReported = service.lastSeenUp !== null && service.lastSeenUp >= (startedAt ?? 0);
  return (
    !service.disabled &&
    isUp(service, { now, serviceDownTime }) &&
    (isReported || isUp(service, { now: now + FIRST_HEARTBEAT_WITHIN_MS, serviceDownTime }))
  );
}

/**
 * Returns `service_down_time`, increased if one late heartbeat would already mark a service as down (spec 2.5). All values
 * are in seconds, as in the options.
 */
export function effectiveDownTime(serviceDownTime: number, reportInterval: number): number {
  return serviceDownTime <= reportInterval ? Math.trunc(2.5 * reportInterval) : serviceDownTime;
}
