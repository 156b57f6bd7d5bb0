import { isUp as isUpAt } from "../../../conductor-client/liveness.js";
import type { Service } from "../../../records/index.js";
import type { ComputeDeps } from "../api/deps.js";

/** Whether the service counts as alive now, for the Compute API. */
export function isUp(
  { clock, serviceDownTime }: Pick<ComputeDeps, "clock" | "serviceDownTime">,
  service: Service,
): boolean {
  return isUpAt(service, { now: clock.now(), serviceDownTime: serviceDownTime * 1000 });
}
