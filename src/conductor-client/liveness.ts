import type { Service } from "../records/index.js";

/** Whether a service counts as alive (spec 1.2). `serviceDownTime` in milliseconds, see {@link effectiveDownTime}. */
export function isUp(
  service: Pick<Service, "forcedDown" | "lastSeenUp" | "createdAt">,
  options: { readonly now: number; readonly serviceDownTime: number },
): boolean {
  const lastHeartbeat = service.lastSeenUp ?? service.createdAt;
  return !service.forcedDown && Math.abs(options.now - lastHeartbeat) <= options.serviceDownTime;
}

/** Milliseconds in which an agent that serves has sent its first heartbeat: it is due after five seconds (spec 2.1 row 7). */
const FIRST_HEARTBEAT_WITHIN_MS = 7_000;

/**
 * Whether the scheduler accepts the host of a service now, and goes on to do so while the host's agent serves. An agent that has
 * sent no heartbeat since its start leaves the host with the heartbeat of the agent before it, which must not become too old first.
 * @param startedAt when the agent that serves took the host, milliseconds since the epoch; null: not known
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
 * `service_down_time`, but never so short that one late heartbeat fells a service (spec 2.5). All in seconds, as the
 * options are.
 */
export function effectiveDownTime(serviceDownTime: number, reportInterval: number): number {
  return serviceDownTime <= reportInterval ? Math.trunc(2.5 * reportInterval) : serviceDownTime;
}
