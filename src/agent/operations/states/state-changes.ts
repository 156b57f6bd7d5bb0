import type { Instance, TaskState, VmState } from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import type { InstanceMethod, OperationServices } from "../contract.js";
import { guestFlow } from "../flow/guest-flow.js";

/** One thing that the driver does, and the vm_state that the instance then has; its allocations stay (spec V18). */
function stateChange<M extends InstanceMethod>(
  method: M,
  task: TaskState,
  vmState: VmState,
  act: (driver: DriverHost, instance: Instance) => Promise<void>,
) {
  return guestFlow(method, {
    act: ({ services, instance }) => act(services.context.driver, instance),
    record: ({ services, instance }) => record(services, instance, vmState, task),
  });
}

export const PAUSE_INSTANCE = stateChange("pause_instance", "pausing", "paused", (driver, instance) =>
  driver.pause(instance),
);

export const UNPAUSE_INSTANCE = stateChange("unpause_instance", "unpausing", "active", (driver, instance) =>
  driver.unpause(instance),
);

export const SUSPEND_INSTANCE = stateChange("suspend_instance", "suspending", "suspended", (driver, instance) =>
  driver.suspend(instance),
);

export const RESUME_INSTANCE = stateChange("resume_instance", "resuming", "active", (driver, instance) =>
  driver.resume(instance),
);

export const UNRESCUE_INSTANCE = stateChange("unrescue_instance", "unrescuing", "active", (driver, instance) =>
  driver.unrescue(instance),
);

// What the contract has no method for is done by power, as by Nova's drivers without one.
export const RESTORE_INSTANCE = stateChange("restore_instance", "restoring", "active", (driver, instance) =>
  driver.powerOn(instance),
);

/** The row follows the guest. A start-up that finishes what was interrupted finds no task state any more. */
export async function record(
  { context, tracker }: OperationServices,
  instance: Instance,
  vmState: VmState,
  task: TaskState,
): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  await tracker.saveInstance(instance, { vmState, powerState, taskState: null }, [task, null]);
}
