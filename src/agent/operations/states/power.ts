import {
  hasDevices,
  type Instance,
  type InstanceChanges,
  POWER_STATES,
  type TaskState,
  type VmState,
} from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import { GuestNotFound } from "../../../virt/errors.js";
import type { PowerOnOptions } from "../../../virt/types.js";
import type { AgentContext } from "../../context.js";
import type { InstanceMethod, OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { imageMeta } from "../flow/guest-options.js";
import { type GuestProgress, guestFlow } from "../flow/step-list.js";

export const START_INSTANCE = guestFlow("start_instance", {
  power_on: async ({ services, instance }) => {
    const { driver } = services;
    const disks = await disksOf(services, instance);
    try {
      await driver.powerOn(instance, ...disks);
    } catch (error) {
      if (!(error instanceof GuestNotFound) || (await isOffloadedInPart(driver, instance))) {
        throw error;
      }
      // A hard reboot creates the guest again from the conductor's records (spec 8.2).
      await driver.reboot(instance, "HARD", ...disks);
    }
  },
  record: ({ services, instance }) => settle(services, instance, { vmState: "active" }, ["powering-on", null]),
});

/** Returns the options of a start with the guest's disks; none for a guest whose disks have no records. */
export async function disksOf(
  { volumes }: Pick<AgentContext, "volumes">,
  instance: Instance,
): Promise<readonly [] | readonly [PowerOnOptions]> {
  return hasDevices(instance) ? [{ blockDevices: await volumes.info(instance) }] : [];
}

/**
 * Returns whether an offload has destroyed the guest and its disks, but failed to release the allocations (spec 6.6).
 * Only the snapshot remains, and the offload is repeated.
 */
async function isOffloadedInPart(driver: DriverHost, instance: Instance): Promise<boolean> {
  return instance.vmState === "shelved" && !(await driver.instanceOnDisk(instance));
}

export const STOP_INSTANCE = guestFlow("stop_instance", {
  power_off: ({ services, instance }) => services.driver.powerOff(instance),
  record: ({ services, instance }) => settle(services, instance, { vmState: "stopped" }, ["powering-off", null]),
});

const STAGES = {
  SOFT: { pending: "reboot_pending", started: "reboot_started" },
  HARD: { pending: "reboot_pending_hard", started: "reboot_started_hard" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, TaskState>>>>;

export const REBOOT_TASKS: readonly TaskState[] = [
  "rebooting",
  "reboot_pending",
  "reboot_started",
  "rebooting_hard",
  "reboot_pending_hard",
  "reboot_started_hard",
];

/**
 * If a reboot fails and leaves no running guest, the instance is set to error; if it leaves a running guest, it counts
 * as done. A hard reboot that was accepted before this one began owns the instance.
 */
export const REBOOT_INSTANCE = guestFlow("reboot_instance", {
  pending: (progress) => saveStage(progress, STAGES[progress.request.type].pending, REBOOT_TASKS),
  started: (progress) => {
    const { pending, started } = STAGES[progress.request.type];
    return saveStage(progress, started, [pending]);
  },
  reboot: async ({ services, instance, request: { type } }) => {
    const { conductor, driver, host, logger } = services;
    const { uuid } = instance;
    const disks = await disksOf(services, instance);
    try {
      await driver.reboot(instance, type, ...disks);
    } catch (error) {
      if ((await driver.powerState(instance)) === POWER_STATES.running) {
        logger.warn("the reboot failed, but the guest is running", { instance: uuid, err: error });
        await addFault(services, uuid, error);
        return;
      }
      const expected = { expectedTaskState: [STAGES[type].started], expectedHost: host };
      await attempt(services, uuid, "set the instance to error", () =>
        conductor.call("instance_save", { uuid, changes: { vmState: "error" }, ...expected }),
      );
      throw error;
    }
  },
  record: ({ services, instance, request: { type } }) =>
    settle(services, instance, { vmState: "active" }, [STAGES[type].started]),
});

async function saveStage(
  { services, instance: { uuid }, request }: GuestProgress<RequestOf<"reboot_instance">>,
  taskState: TaskState,
  from: readonly TaskState[],
): Promise<void> {
  const expected = { expectedTaskState: [...from], expectedHost: services.host, ofRequest: request.requestId };
  await services.conductor.call("instance_save", { uuid, changes: { taskState }, ...expected });
}

/** Clears the task_state and saves the guest's power state. */
export async function settle(
  services: OperationServices,
  instance: Instance,
  changes: InstanceChanges,
  expectedTaskState: (TaskState | null)[],
): Promise<void> {
  const powerState = await services.driver.powerState(instance);
  await services.conductor.call("instance_save", {
    uuid: instance.uuid,
    changes: { ...changes, powerState, taskState: null },
    expectedTaskState,
    expectedHost: services.host,
  });
}

/** Creates a flow of one driver call and the resulting vm_state; the allocations stay (spec V18). */
function stateChange<M extends InstanceMethod>(
  method: M,
  task: TaskState,
  vmState: VmState,
  act: "pause" | "unpause" | "suspend" | "resume" | "unrescue" | "powerOn",
) {
  return guestFlow(method, {
    act: async ({ services, instance }) => services.driver[act](instance, ...(await disksOf(services, instance))),
    record: ({ services, instance }) => record(services, instance, vmState, task),
  });
}

export const PAUSE_INSTANCE = stateChange("pause_instance", "pausing", "paused", "pause");
export const UNPAUSE_INSTANCE = stateChange("unpause_instance", "unpausing", "active", "unpause");
export const SUSPEND_INSTANCE = stateChange("suspend_instance", "suspending", "suspended", "suspend");
export const RESUME_INSTANCE = stateChange("resume_instance", "resuming", "active", "resume");
export const UNRESCUE_INSTANCE = stateChange("unrescue_instance", "unrescuing", "active", "unrescue");
// Operations without a method in the driver contract only change the power, as in Nova's drivers without one.
export const RESTORE_INSTANCE = stateChange("restore_instance", "restoring", "active", "powerOn");

/** Saves the guest's state in the row. A start-up that completes an interrupted operation may find no task_state. */
export async function record(
  services: OperationServices,
  instance: Instance,
  vmState: VmState,
  task: TaskState,
): Promise<void> {
  const powerState = await services.driver.powerState(instance);
  await services.tracker.saveInstance(instance, { vmState, powerState, taskState: null }, [task, null]);
}

/** Boots the guest from another image, or its own, with its own disk attached. */
export const RESCUE_INSTANCE = guestFlow("rescue_instance", {
  rescue: async ({ services, instance, request: { rescueImageRef } }) => {
    const image = imageMeta(instance, rescueImageRef);
    await services.driver.rescue(instance, { image, network: [], blockDevices: await services.volumes.info(instance) });
  },
  record: ({ services, instance }) => record(services, instance, "rescued", "rescuing"),
});
