import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { AVAILABILITY_ZONES } from "../resources/agents.js";

/** @throws {HttpError} 404 for a zone that no agent of the resource is in */
export function assertZonesExist(
  context: NetworkContext,
  resource: "network" | "router",
  zones: readonly string[],
): void {
  if (zones.length === 0) {
    return;
  }
  const known = context.table(AVAILABILITY_ZONES).find(where`resource = ${resource}`);
  const names = [context.services.options.availabilityZone, ...known.map(({ name }) => name)];
  const unknown = zones.find((zone) => !names.includes(zone));
  if (unknown !== undefined) {
    throw networkError(404, "AvailabilityZoneNotFound", `AvailabilityZone ${unknown} could not be found.`);
  }
}
