import { type Instance, type InstanceChanges, POWER_STATES, type TaskState } from "../../../records/index.js";
import { GuestNotFound } from "../../../virt/errors.js";
import { attempt, operation } from "../flow/error-wrappers.js";
import { runSteps, type StepList, stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";

interface PowerProgress {
  readonly parts: OperationParts;
  readonly instance: Instance;
}

export const START_INSTANCE = stepList<PowerProgress>("start_instance", {
  power_on: async ({ parts, instance }) => {
    const { driver } = parts.context;
    try {
      await driver.powerOn(instance);
    } catch (error) {
      if (!(error instanceof GuestNotFound)) {
        throw error;
      }
      // A hard reboot makes the guest anew from what the conductor knows of it (spec 8.2).
      await driver.reboot(instance, "HARD");
    }
  },
  record: ({ parts, instance }) => settle(parts, instance, { vmState: "active" }, ["powering-on", null]),
});

export const STOP_INSTANCE = stepList<PowerProgress>("stop_instance", {
  power_off: ({ parts, instance }) => parts.context.driver.powerOff(instance),
  record: ({ parts, instance }) => settle(parts, instance, { vmState: "stopped" }, ["powering-off", null]),
});

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

interface RebootProgress extends PowerProgress {
  readonly type: "SOFT" | "HARD";
}

/** A reboot that fails and leaves no running guest sets the instance to error. */
export const REBOOT_INSTANCE = stepList<RebootProgress>("reboot_instance", {
  pending: async ({ parts: { context }, instance: { uuid }, type }) => {
    const changes = { taskState: REBOOT_TASKS[type].pending };
    const expected = { expectedTaskState: ANY_REBOOT, expectedHost: context.host };
    await context.conductor.call("instance_save", { uuid, changes, ...expected });
  },
  started: async ({ parts: { context }, instance: { uuid }, type }) => {
    const { pending, started } = REBOOT_TASKS[type];
    const expected = { expectedTaskState: [pending], expectedHost: context.host };
    await context.conductor.call("instance_save", { uuid, changes: { taskState: started }, ...expected });
  },
  reboot: async ({ parts, instance, type }) => {
    const { conductor, driver, host } = parts.context;
    const { uuid } = instance;
    try {
      await driver.reboot(instance, type);
    } catch (error) {
      if ((await driver.powerState(instance)) !== POWER_STATES.running) {
        const expected = { expectedTaskState: [REBOOT_TASKS[type].started], expectedHost: host };
        await attempt(parts.context, uuid, "set the instance to error", () =>
          conductor.call("instance_save", { uuid, changes: { vmState: "error" }, ...expected }),
        );
      }
      throw error;
    }
  },
  record: ({ parts, instance, type }) => settle(parts, instance, { vmState: "active" }, [REBOOT_TASKS[type].started]),
});

/** @throws what the driver throws, UnexpectedTaskState */
export function startInstance(parts: OperationParts, instance: Instance, requestId: string): Promise<void> {
  return run(START_INSTANCE, { parts, instance }, requestId);
}

/** @throws what the driver throws, UnexpectedTaskState */
export function stopInstance(parts: OperationParts, instance: Instance, requestId: string): Promise<void> {
  return run(STOP_INSTANCE, { parts, instance }, requestId);
}

/** @throws what the driver throws, UnexpectedTaskState */
export function rebootInstance(
  parts: OperationParts,
  instance: Instance,
  type: "SOFT" | "HARD",
  requestId: string,
): Promise<void> {
  return run(REBOOT_INSTANCE, { parts, instance, type }, requestId);
}

async function run<P extends PowerProgress>(list: StepList<P>, progress: P, requestId: string): Promise<void> {
  const { parts, instance } = progress;
  const named = { instanceUuid: instance.uuid, event: `compute_${list.operation}`, requestId };
  await operation(parts.context, named, async () => {
    await runSteps(parts, list, progress);
  });
}

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
    expectedHost: context.host,
  });
}
