import type { Instance, TaskState, VmState } from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import { operation } from "../flow/error-wrappers.js";
import { runSteps, type StepList, stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";

interface ChangeProgress {
  readonly parts: OperationParts;
  readonly instance: Instance;
}

type ChangeMethod =
  | "pause_instance"
  | "unpause_instance"
  | "suspend_instance"
  | "resume_instance"
  | "unrescue_instance"
  | "soft_delete_instance"
  | "restore_instance";

interface StateChange {
  readonly operation: ChangeMethod;
  readonly steps: StepList<ChangeProgress>;
}

/** One thing that the driver does, and the vm_state that the instance then has; its allocations stay (spec V18). */
function stateChange(
  name: ChangeMethod,
  task: TaskState,
  vmState: VmState,
  act: (driver: DriverHost, instance: Instance) => Promise<void>,
): StateChange {
  return {
    operation: name,
    steps: stepList<ChangeProgress>(name, {
      act: ({ parts, instance }) => act(parts.context.driver, instance),
      record: ({ parts, instance }) => record(parts, instance, vmState, task),
    }),
  };
}

/** The operations that are a driver's deed and a state. */
export const STATE_CHANGES = {
  pause: stateChange("pause_instance", "pausing", "paused", (driver, instance) => driver.pause(instance)),
  unpause: stateChange("unpause_instance", "unpausing", "active", (driver, instance) => driver.unpause(instance)),
  suspend: stateChange("suspend_instance", "suspending", "suspended", (driver, instance) => driver.suspend(instance)),
  resume: stateChange("resume_instance", "resuming", "active", (driver, instance) => driver.resume(instance)),
  unrescue: stateChange("unrescue_instance", "unrescuing", "active", (driver, instance) => driver.unrescue(instance)),
  // What the contract has no method for is done by power, as by Nova's drivers without one.
  softDelete: stateChange("soft_delete_instance", "soft-deleting", "soft-delete", (driver, instance) =>
    driver.powerOff(instance),
  ),
  restore: stateChange("restore_instance", "restoring", "active", (driver, instance) => driver.powerOn(instance)),
} as const satisfies Readonly<Record<string, StateChange>>;

export type StateChangeName = keyof typeof STATE_CHANGES;

/** @throws what the driver throws, UnexpectedTaskState */
export async function changeState(
  parts: OperationParts,
  name: StateChangeName,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const change = STATE_CHANGES[name];
  const named = { instanceUuid: instance.uuid, event: `compute_${change.operation}`, requestId };
  await operation(parts.context, named, async () => {
    await runSteps(parts, change.steps, { parts, instance });
  });
}

/** The row follows the guest. A start-up that finishes what was interrupted finds no task state any more. */
export async function record(
  { context, tracker }: OperationParts,
  instance: Instance,
  vmState: VmState,
  task: TaskState,
): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  await tracker.saveInstance(instance, { vmState, powerState, taskState: null }, [task, null]);
}
