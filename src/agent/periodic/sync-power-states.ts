import { VirtDriverNotReady } from "../../virt/errors.js";
import type { AgentParts } from "../parts.js";

/**
 * Spec 4.10 `_sync_power_states`; what one instance needs is the operations' to decide.
 * @param stopped guests that the agent itself has stopped: they may be wanted as they were (spec 3.3 GAP-c)
 */
export async function syncPowerStates(parts: AgentParts, stopped: ReadonlySet<string>): Promise<void> {
  const guests = await countGuests(parts);
  if (guests === null) {
    return;
  }
  const instances = await parts.conductor.call("instances_by_host", { host: parts.host });
  if (guests !== instances.length) {
    parts.logger.warn(`${instances.length} instances are recorded for this host, its hypervisor has ${guests} guests`);
  }
  for (const instance of instances) {
    if (instance.taskState !== null || stopped.has(instance.uuid)) {
      continue;
    }
    try {
      await parts.operations.syncInstancePowerState(instance);
    } catch (error) {
      parts.logger.error("the power state could not be synchronised", { instance: instance.uuid, err: error });
    }
  }
}

/** Null while the hypervisor is not ready. */
async function countGuests(parts: AgentParts): Promise<number | null> {
  try {
    return (await parts.driver.listInstanceUuids()).length;
  } catch (error) {
    if (!(error instanceof VirtDriverNotReady)) {
      throw error;
    }
    parts.logger.debug("the hypervisor is not ready; power states are not synchronised");
    return null;
  }
}
