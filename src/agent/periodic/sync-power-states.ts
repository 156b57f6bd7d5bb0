import { VirtDriverNotReady } from "../../virt/errors.js";
import type { AgentServices } from "../services.js";
import { takeGuestsBack } from "../startup/take-guest-back.js";
import { endOffloads } from "./shelved-instances.js";

/**
 * Spec 4.10 `_sync_power_states`; what one instance needs is the operations' to decide.
 * @param stopped guests that the agent itself has stopped: they may be wanted as they were (spec 3.3 GAP-c)
 */
export async function syncPowerStates(services: AgentServices, stopped: ReadonlySet<string>): Promise<void> {
  const instances = await services.conductor.call("instances_by_host", { host: services.host });
  const guests = await listGuests(services);
  if (guests === null) {
    return;
  }
  if (guests.length !== instances.length) {
    services.logger.warn(
      `${instances.length} instances are recorded for this host, its hypervisor has ${guests.length} guests`,
    );
  }
  await endOffloads(services, instances, new Set(guests));
  await takeGuestsBack(services, instances, stopped);
  for (const instance of instances) {
    if (instance.taskState !== null || stopped.has(instance.uuid)) {
      continue;
    }
    try {
      await services.operations.syncInstancePowerState(instance);
    } catch (error) {
      services.logger.error("the power state could not be synchronised", { instance: instance.uuid, err: error });
    }
  }
}

/** Null while the hypervisor is not ready. */
async function listGuests(services: AgentServices): Promise<readonly string[] | null> {
  try {
    return await services.driver.listInstanceUuids();
  } catch (error) {
    if (!(error instanceof VirtDriverNotReady)) {
      throw error;
    }
    services.logger.debug("the hypervisor is not ready; power states are not synchronised");
    return null;
  }
}
