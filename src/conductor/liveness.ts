import type { Service } from "../records/index.js";

/** Whether a service counts as alive (spec 1.2). `serviceDownTime` in milliseconds, see {@link effectiveDownTime}. */
export function isUp(
  service: Pick<Service, "forcedDown" | "lastSeenUp" | "createdAt">,
  options: { readonly now: number; readonly serviceDownTime: number },
): boolean {
  const lastSeen = service.lastSeenUp ?? service.createdAt;
  return !service.forcedDown && Math.abs(options.now - lastSeen) <= options.serviceDownTime;
}

/**
 * `service_down_time`, but never so short that one late heartbeat fells a service (spec 2.5). All in seconds, as the
 * options are.
 */
export function effectiveDownTime(serviceDownTime: number, reportInterval: number): number {
  return serviceDownTime <= reportInterval ? Math.trunc(2.5 * reportInterval) : serviceDownTime;
}
