import { type HypervisorGuest, POWER_STATES, type PowerState } from "../../records/index.js";
import type { AgentServices } from "../services.js";

const STATES: Readonly<Record<PowerState, string>> = {
  [POWER_STATES.nostate]: "unknown",
  [POWER_STATES.running]: "running",
  [POWER_STATES.paused]: "paused",
  [POWER_STATES.shutdown]: "shut off",
  [POWER_STATES.crashed]: "crashed",
  [POWER_STATES.suspended]: "suspended",
};

/** What the driver has on this host, for people; a guest whose instance nobody knows is listed by its uuid. */
export async function listGuests({
  driver,
  conductor,
}: Pick<AgentServices, "driver" | "conductor">): Promise<HypervisorGuest[]> {
  const uuids = await driver.listInstanceUuids();
  if (uuids.length === 0) {
    return [];
  }
  const instances = await conductor.call("instances_by_filters", { filters: { uuids: [...uuids] } });
  const known = new Map(instances.map((instance) => [instance.uuid, instance]));
  const guests: HypervisorGuest[] = [];
  for (const uuid of uuids) {
    const instance = known.get(uuid);
    const state = instance === undefined ? POWER_STATES.nostate : await driver.powerState(instance);
    guests.push({ uuid, name: instance?.displayName || uuid, state: STATES[state] });
  }
  return guests;
}
