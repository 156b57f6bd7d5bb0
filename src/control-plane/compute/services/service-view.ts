import type { Service } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { ComputeDeps } from "../api/deps.js";
import { isUp } from "./service-status.js";

export function serviceView(
  deps: Pick<ComputeDeps, "clock" | "serviceDownTime">,
  service: Service,
  version: number,
): Json {
  return {
    binary: service.binary,
    host: service.host,
    id: version >= 53 ? service.uuid : service.id,
    zone: service.availabilityZone,
    status: service.disabled ? "disabled" : "enabled",
    state: isUp(deps, service) ? "up" : "down",
    updated_at: service.updatedAt === null ? null : isoMicroseconds(service.updatedAt),
    disabled_reason: service.disabledReason,
    ...(version >= 11 ? { forced_down: service.forcedDown } : {}),
  };
}
