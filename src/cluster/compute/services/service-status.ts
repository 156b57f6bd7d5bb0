import type { Service } from "../../../conductor/records/index.js";
import type { ComputeDeps } from "../api/deps.js";

/** Spec 1.2: fenced services are down, whatever they report. */
export const isUp = (
  { clock, serviceDownTime }: Pick<ComputeDeps, "clock" | "serviceDownTime">,
  service: Service,
): boolean =>
  !service.forcedDown && Math.abs(clock.now() - (service.lastSeenUp ?? service.createdAt)) <= serviceDownTime * 1000;
