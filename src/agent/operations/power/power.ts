import { type Instance, type InstanceChanges, POWER_STATES, type TaskState } from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import { GuestNotFound } from "../../../virt/errors.js";
import type { OperationServices } from "../contract.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { guestFlow } from "../flow/guest-flow.js";

export const START_INSTANCE = guestFlow("start_instance", {
  power_on: async ({ services, instance }) => {
    const { driver } = services.context;
    try {
      await driver.powerOn(instance);
    } catch (error) {
      if (!(error instanceof GuestNotFound) || (await isOffloadedInPart(driver, instance))) {
        throw error;
      }
      // A hard reboot makes the guest anew from what the conductor knows of it (spec 8.2).
      await driver.reboot(instance, "HARD");
    }
  },
  record: ({ services, instance }) => settle(services, instance, { vmState: "active" }, ["powering-on", null]),
});

/**
 * An offload that could not release the allocations has destroyed the guest with its disks (spec 6.6): what is left of it is the
 * snapshot, and it is offloaded again.
 */
async function isOffloadedInPart(driver: DriverHost, instance: Instance): Promise<boolean> {
  return instance.vmState === "shelved" && !(await driver.instanceOnDisk(instance));
}

export const STOP_INSTANCE = guestFlow("stop_instance", {
  power_off: ({ services, instance }) => services.context.driver.powerOff(instance),
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
 * A reboot that fails and leaves no running guest sets the instance to error; one that leaves a running guest has done its work. A hard
 * one that was accepted before this has begun has the instance.
 */
export const REBOOT_INSTANCE = guestFlow("reboot_instance", {
  pending: async ({ services: { context }, instance: { uuid }, request: { type, requestId } }) => {
    const changes = { taskState: STAGES[type].pending };
    const expected = { expectedTaskState: [...REBOOT_TASKS], expectedHost: context.host, ofRequest: requestId };
    await context.conductor.call("instance_save", { uuid, changes, ...expected });
  },
  started: async ({ services: { context }, instance: { uuid }, request: { type, requestId } }) => {
    const { pending, started } = STAGES[type];
    const expected = { expectedTaskState: [pending], expectedHost: context.host, ofRequest: requestId };
    await context.conductor.call("instance_save", { uuid, changes: { taskState: started }, ...expected });
  },
  reboot: async ({ services, instance, request: { type } }) => {
    const { conductor, driver, host, runtime } = services.context;
    const { uuid } = instance;
    try {
      await driver.reboot(instance, type);
    } catch (error) {
      if ((await driver.powerState(instance)) === POWER_STATES.running) {
        runtime.logger.warn("a reboot failed, but the guest runs", { instance: uuid, err: error });
        await addFault(services.context, uuid, error);
        return;
      }
      const expected = { expectedTaskState: [STAGES[type].started], expectedHost: host };
      await attempt(services.context, uuid, "set the instance to error", () =>
        conductor.call("instance_save", { uuid, changes: { vmState: "error" }, ...expected }),
      );
      throw error;
    }
  },
  record: ({ services, instance, request: { type } }) =>
    settle(services, instance, { vmState: "active" }, [STAGES[type].started]),
});

/** Nothing is done to the instance any more, and what its guest does is recorded. */
export async function settle(
  { context }: OperationServices,
  instance: Instance,
  changes: InstanceChanges,
  expectedTaskState: (TaskState | null)[],
): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  await context.conductor.call("instance_save", {
    uuid: instance.uuid,
    changes: { ...changes, powerState, taskState: null },
    expectedTaskState,
    expectedHost: context.host,
  });
}
