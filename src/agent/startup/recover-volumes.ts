import { hasDevices, type Instance } from "../../records/index.js";
import { isLeaseLost } from "../operations/flow/error-wrappers.js";
import type { AgentServices } from "../services.js";

/**
 * Finishes or undoes what an earlier process has left of attachments (spec 2.6), unless a message about the instance waits:
 * it may be the one that attaches. Without Block Storage everything stays as it is.
 */
export async function recoverVolumes(services: AgentServices, instance: Instance): Promise<void> {
  if (!hasDevices(instance) || instance.host !== services.host) {
    return;
  }
  const { conductor, host } = services;
  try {
    if (!(await conductor.call("instance_in_hand", { uuid: instance.uuid, host }))) {
      await services.operations.recoverVolumes(instance);
    }
  } catch (err) {
    if (isLeaseLost(err)) {
      throw err;
    }
    services.logger.warn("could not check the volumes of a guest", { instance: instance.uuid, err });
  }
}
