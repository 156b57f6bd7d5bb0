import { type Instance, POWER_STATES } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";

/**
 * Spec 4.10 `_sync_power_states` for one instance: the row's power state always follows the driver; a guest that is up or
 * down against the row's vm_state is stopped.
 */
export async function syncInstancePowerState(services: OperationServices, uuid: string): Promise<void> {
  const { conductor, driver, host, runtime } = services.context;
  const instance = await conductor.call("instance_get", { uuid });
  if (!instance || instance.host !== host) {
    return;
  }
  if (instance.taskState !== null) {
    runtime.logger.debug("instance has a task: its power state is not synchronised", { instance: uuid });
    return;
  }
  const powerState = await driver.powerState(instance);
  if (powerState !== instance.powerState) {
    // Not if a task began meanwhile: it sets the power state when it is done.
    await conductor.call("instance_save", {
      uuid,
      changes: { powerState },
      expectedTaskState: [null],
      expectedHost: host,
    });
  }
  await react(services, { ...instance, powerState });
}

async function react({ context }: OperationServices, { uuid, vmState, powerState }: Instance): Promise<void> {
  const { conductor, runtime } = context;
  const down = powerState === POWER_STATES.shutdown || powerState === POWER_STATES.crashed;
  const up = !down && powerState !== POWER_STATES.nostate;
  const fields = { instance: uuid, vm_state: vmState, power_state: powerState };
  if ((vmState === "active" || vmState === "paused") && down) {
    runtime.logger.warn(`guest of an ${vmState} instance is shut down: the instance is stopped`, fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "active" && powerState === POWER_STATES.suspended) {
    runtime.logger.warn("guest of an active instance is suspended: the instance is stopped", fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "stopped" && up) {
    runtime.logger.warn("guest of a stopped instance is not stopped: it is stopped", fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "active" && (powerState === POWER_STATES.paused || powerState === POWER_STATES.nostate)) {
    runtime.logger.warn("guest of an active instance is not running; nothing is done", fields);
  }
}
