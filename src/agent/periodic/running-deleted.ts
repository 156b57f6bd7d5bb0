import type { Instance } from "../../records/index.js";
import { GuestNotFound, VirtDriverNotReady } from "../../virt/errors.js";
import { LOCAL_DISKS } from "../../virt/local-disks.js";
import type { AgentView } from "../context.js";
import { hasQuirk } from "../context.js";
import { instancesOnDriver } from "../evacuation/instances-on-driver.js";
import { requireHostLease } from "../lifecycle/host-lease.js";
import type { AgentServices } from "../services.js";

/** Spec 3.5: guests of instances that are deleted, for `running_deleted_instance_timeout` seconds at least. */
export async function findRunningDeleted(view: AgentView): Promise<readonly Instance[]> {
  const { runningDeletedInstanceTimeout } = view.config.defaults;
  const latest = view.runtime.clock.now() - runningDeletedInstanceTimeout * 1000;
  const instances = await instancesOnDriver(view, { deleted: true, softDeleted: false });
  return instances.filter(({ deletedAt }) => deletedAt === null || deletedAt <= latest);
}

/** Spec 3.5, by `running_deleted_instance_action`. Whose the instance was is not asked; allocations are not touched. */
export async function cleanUpRunningDeleted(services: AgentServices): Promise<void> {
  const action = services.config.defaults.runningDeletedInstanceAction;
  if (action === "noop") {
    return;
  }
  for (const instance of await candidates(services)) {
    services.logger.warn(`the instance is deleted, but its guest is still on the hypervisor; action: ${action}`, {
      instance: instance.uuid,
    });
    try {
      if (action === "shutdown") {
        await shutDown(services, instance);
      } else if (action === "reap") {
        await reap(services, instance);
      }
    } catch (error) {
      services.logger.error(`could not ${action} the guest of a deleted instance`, {
        instance: instance.uuid,
        err: error,
      });
    }
  }
}

async function candidates(services: AgentServices): Promise<readonly Instance[]> {
  try {
    return await findRunningDeleted(services);
  } catch (error) {
    if (!(error instanceof VirtDriverNotReady)) {
      throw error;
    }
    services.logger.debug("the hypervisor is not ready; deleted guests are not looked for");
    return [];
  }
}

async function shutDown(services: AgentServices, instance: Instance): Promise<void> {
  // Upstream calls the driver with wrong arguments and swallows the error, so that the guest runs on.
  if (hasQuirk(services, "broken-running-deleted-shutdown")) {
    return;
  }
  requireHostLease(services, `stop the guest of the deleted instance ${instance.uuid}`);
  try {
    await services.driver.powerOff(instance);
  } catch (error) {
    if (!(error instanceof GuestNotFound)) {
      throw error;
    }
  }
}

async function reap(services: AgentServices, instance: Instance): Promise<void> {
  requireHostLease(services, `destroy the guest of the deleted instance ${instance.uuid}`);
  await services.driver.destroy(instance, {
    network: [],
    blockDevices: LOCAL_DISKS,
    destroyDisks: true,
  });
}
