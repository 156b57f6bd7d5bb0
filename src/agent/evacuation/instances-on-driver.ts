import type { InstanceFilters } from "../../conductor-client/methods/filters.js";
import type { Instance } from "../../records/index.js";
import type { AgentView } from "../context.js";

/**
 * Spec 3.2: the instances whose guests are on the hypervisor, of any host, deleted rows included. Guests that no instance
 * is known for do not appear: nothing may touch them. @throws {VirtDriverNotReady}
 */
export async function instancesOnDriver(
  view: AgentView,
  filters: Omit<InstanceFilters, "uuids"> = {},
): Promise<readonly Instance[]> {
  const uuids = await view.driver.listInstanceUuids();
  return uuids.length === 0
    ? []
    : view.conductor.call("instances_by_filters", { filters: { ...filters, uuids: [...uuids] } });
}
