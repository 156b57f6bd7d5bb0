import type { Instance } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import { requestId } from "../context.js";
import { ignore } from "../ignore-errors.js";
import type { AgentServices } from "../services.js";
import { takeGuestsBack } from "../startup/init-instance.js";

/**
 * Spec 4.10 `_sync_power_states`; {@link Operations.syncInstancePowerState} decides for each instance.
 * @param stopped guests that the agent itself has stopped: their instances may have to keep running elsewhere (spec 3.3
 * GAP-c)
 */
export async function syncPowerStates(services: AgentServices, stopped: ReadonlySet<string>): Promise<void> {
  const instances = await services.conductor.call("instances_by_host", { host: services.host });
  const guests = await services.driver
    .listInstanceUuids()
    .catch(
      ignore(VirtDriverNotReady, () =>
        services.logger.debug("the hypervisor is not ready; power states are not synchronised"),
      ),
    );
  if (!guests) {
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

/** Spec 4.10 `_poll_shelved_instances`: offloads instances that were shelved `shelved_offload_time` seconds ago. */
export async function pollShelvedInstances(services: AgentServices): Promise<void> {
  const latest = services.runtime.clock.now() - services.config.defaults.shelvedOffloadTime * 1000;
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { vmStates: ["shelved"], taskStates: [null], host: services.host, deleted: false },
  });
  for (const instance of instances) {
    if (shelvedAt(instance) <= latest) {
      await offload(services, instance);
    }
  }
}

/**
 * Spec 6.6 "offload", OPT: repeats an offload that destroyed the guest and its disks but could not release the
 * allocations. The instance stays shelved on its host until it succeeds.
 */
async function endOffloads(
  services: AgentServices,
  instances: readonly Instance[],
  guests: ReadonlySet<string>,
): Promise<void> {
  for (const instance of instances) {
    const { uuid, vmState, taskState } = instance;
    const gone = vmState === "shelved" && taskState === null && !guests.has(uuid);
    if (gone && !(await mayBeOnDisk(services, instance))) {
      services.logger.info("the guest of a shelved instance is gone: it is offloaded again", {
        instance: uuid,
      });
      await offload(services, instance);
    }
  }
}

/** Returns true if the hypervisor has lost only the guest's definition, or does not respond. */
async function mayBeOnDisk({ driver, logger }: AgentServices, instance: Instance): Promise<boolean> {
  try {
    return await driver.instanceOnDisk(instance);
  } catch (err) {
    logger.warn("could not check whether a guest's disks are here", { instance: instance.uuid, err });
    return true;
  }
}

async function offload(services: AgentServices, { uuid }: Instance): Promise<void> {
  const request = requestId(services);
  try {
    await services.conductor.call("instance_save", {
      uuid,
      changes: { taskState: "shelving_offloading", taskRequestId: request },
      expectedTaskState: [null],
      expectedVmState: ["shelved"],
      expectedHost: services.host,
    });
    await services.operations.run("shelve_offload_instance", { instanceUuid: uuid, requestId: request });
  } catch (error) {
    services.logger.error("a shelved instance could not be offloaded; retrying later", {
      instance: uuid,
      request_id: request,
      err: error,
    });
  }
}

/** In milliseconds; if not recorded, the time of the row's last write. */
function shelvedAt({ systemMetadata, updatedAt, createdAt }: Instance): number {
  const noted = Number(systemMetadata.shelved_at);
  return Number.isFinite(noted) ? noted : (updatedAt ?? createdAt);
}
