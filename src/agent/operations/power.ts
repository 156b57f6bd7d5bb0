import { type Instance, type InstanceChanges, POWER_STATES, type TaskState } from "../../conductor/records/index.js";
import { GuestNotFound } from "../../virt/errors.js";
import { operation } from "./error-wrappers.js";
import type { OperationParts } from "./parts.js";

/** @throws what the driver throws, UnexpectedTaskState */
export async function startInstance(parts: OperationParts, instance: Instance, requestId: string): Promise<void> {
  const { driver } = parts.context;
  await operation(parts.context, named(instance, "compute_start_instance", requestId), async () => {
    try {
      await driver.powerOn(instance);
    } catch (error) {
      if (!(error instanceof GuestNotFound)) throw error;
      // A hard reboot makes the guest anew from what the conductor knows of it (spec 8.2).
      await driver.reboot(instance, "HARD");
    }
    await settle(parts, instance, { vmState: "active" }, ["powering-on", null]);
  });
}

/** @throws what the driver throws, UnexpectedTaskState */
export async function stopInstance(parts: OperationParts, instance: Instance, requestId: string): Promise<void> {
  const { driver } = parts.context;
  await operation(parts.context, named(instance, "compute_stop_instance", requestId), async () => {
    await driver.powerOff(instance);
    await settle(parts, instance, { vmState: "stopped" }, ["powering-off", null]);
  });
}

const REBOOT_TASKS = {
  SOFT: { pending: "reboot_pending", started: "reboot_started" },
  HARD: { pending: "reboot_pending_hard", started: "reboot_started_hard" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, TaskState>>>>;

const ANY_REBOOT: TaskState[] = [
  "rebooting",
  "reboot_pending",
  "reboot_started",
  "rebooting_hard",
  "reboot_pending_hard",
  "reboot_started_hard",
];

/** A reboot that fails and leaves no running guest sets the instance to error. @throws what the driver throws */
export async function rebootInstance(
  parts: OperationParts,
  instance: Instance,
  type: "SOFT" | "HARD",
  requestId: string,
): Promise<void> {
  const { conductor, driver } = parts.context;
  const { uuid } = instance;
  const tasks = REBOOT_TASKS[type];
  await operation(parts.context, named(instance, "compute_reboot_instance", requestId), async () => {
    await conductor.call("instance_save", {
      uuid,
      changes: { taskState: tasks.pending },
      expectedTaskState: ANY_REBOOT,
    });
    await conductor.call("instance_save", {
      uuid,
      changes: { taskState: tasks.started },
      expectedTaskState: [tasks.pending],
    });
    try {
      await driver.reboot(instance, type);
    } catch (error) {
      if ((await driver.powerState(instance)) !== POWER_STATES.running) {
        await conductor.call("instance_save", { uuid, changes: { vmState: "error" } });
      }
      throw error;
    }
    await settle(parts, instance, { vmState: "active" }, [tasks.started]);
  });
}

const named = ({ uuid }: Instance, event: string, requestId: string) => ({ instanceUuid: uuid, event, requestId });

async function settle(
  { context }: OperationParts,
  instance: Instance,
  changes: InstanceChanges,
  expectedTaskState: (TaskState | null)[],
): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  await context.conductor.call("instance_save", {
    uuid: instance.uuid,
    changes: { ...changes, powerState, taskState: null },
    expectedTaskState,
  });
}
