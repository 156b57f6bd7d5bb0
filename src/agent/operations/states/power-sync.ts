import { type Instance, POWER_STATES, type PowerState, type VmState } from "../../../records/index.js";
import { ignore } from "../../ignore-errors.js";
import type { OperationServices, PowerUpdate } from "../flow/contract.js";
import { recordingFault, withActionEvent } from "../flow/error-wrappers.js";

interface PowerChange {
  readonly from: { readonly vmState: VmState; readonly powerState: PowerState };
  readonly to: { readonly vmState: VmState; readonly powerState: PowerState };
}

const RUNNING = { vmState: "active", powerState: POWER_STATES.running } as const;

const STOPPED = { vmState: "stopped", powerState: POWER_STATES.shutdown } as const;

const CHANGES = {
  POWER_ON: { from: STOPPED, to: RUNNING },
  POWER_OFF: { from: RUNNING, to: STOPPED },
} as const satisfies Readonly<Record<string, PowerChange>>;

type Target = keyof typeof CHANGES;

/**
 * Nova's `power_update` (spec 6.6). In another state, or with a task, the instance's state stays, and the event
 * succeeds.
 *
 * Nova trusts the event; this agent reads the driver's power state. An event that waited for its host may be older than
 * the guest's last start, and the power sync would then stop a guest that must run. One write changes the state, so
 * that a crash leaves no task_state behind.
 */
export async function updatePower(
  services: OperationServices,
  { instanceUuid, requestId, target }: PowerUpdate,
): Promise<void> {
  const { conductor, host, logger } = services;
  const instance = await conductor.call("instance_get", { uuid: instanceUuid }, { requestId });
  if (instance?.host !== host) {
    logger.debug(`power-update ${target}: the instance is not on this host`, { instance: instanceUuid });
    return;
  }
  const event = { instanceUuid, requestId, event: "compute_power_update" };
  await withActionEvent(services, event, () =>
    recordingFault(services, instanceUuid, async () => {
      if (isTarget(target) && matches(instance, CHANGES[target].from)) {
        await savePowerState(services, instance, target);
      } else {
        const { vmState, taskState, powerState } = instance;
        logger.info(`power-update ${target} is a no-op in the state of the instance`, {
          instance: instanceUuid,
          vm_state: vmState,
          task_state: taskState,
          power_state: powerState,
        });
      }
    }),
  );
}

function isTarget(tag: string | null): tag is Target {
  return tag !== null && Object.hasOwn(CHANGES, tag);
}

function matches(instance: Instance, { vmState, powerState }: PowerChange["from"]): boolean {
  return instance.taskState === null && instance.vmState === vmState && instance.powerState === powerState;
}

async function savePowerState(services: OperationServices, instance: Instance, target: Target): Promise<void> {
  const { conductor, driver, host, logger } = services;
  const { from, to } = CHANGES[target];
  const { uuid } = instance;
  await driver.powerUpdateEvent(instance, target);
  const powerState = await driver.powerState(instance);
  if (powerState !== to.powerState) {
    const fields = { instance: uuid, power_state: powerState };
    logger.info(`power-update ${target} is outdated: the guest has another power state`, fields);
    return;
  }
  const saving = conductor.call("instance_save", {
    uuid,
    changes: { ...to, taskState: null },
    expectedTaskState: [null],
    expectedVmState: [from.vmState],
    expectedHost: host,
  });
  await saving.catch(
    ignore(["UnexpectedTaskState", "UnexpectedVmState", "ObjectActionError"], (err) =>
      logger.info(`power-update ${target} was preempted by another request`, { instance: uuid, err }),
    ),
  );
}

/**
 * Spec 4.10 `_sync_power_states` for one instance. The row's power state always follows the driver. If the guest's
 * power contradicts the row's vm_state, the instance is stopped.
 */
export async function syncInstancePowerState(services: OperationServices, uuid: string): Promise<void> {
  const { conductor, driver, host, logger } = services;
  const instance = await conductor.call("instance_get", { uuid });
  if (!instance || instance.host !== host) {
    return;
  }
  if (instance.taskState !== null) {
    logger.debug("instance has a task: its power state is not synchronised", { instance: uuid });
    return;
  }
  const powerState = await driver.powerState(instance);
  if (powerState !== instance.powerState) {
    // Not if a task has begun meanwhile: it sets the power state when it ends.
    await conductor.call("instance_save", {
      uuid,
      changes: { powerState },
      expectedTaskState: [null],
      expectedHost: host,
    });
  }
  await react(services, { ...instance, powerState });
}

async function react(services: OperationServices, { uuid, vmState, powerState }: Instance): Promise<void> {
  const { conductor, logger } = services;
  const down = powerState === POWER_STATES.shutdown || powerState === POWER_STATES.crashed;
  const up = !down && powerState !== POWER_STATES.nostate;
  const fields = { instance: uuid, vm_state: vmState, power_state: powerState };
  if ((vmState === "active" || vmState === "paused") && down) {
    logger.warn(`guest of an ${vmState} instance is shut down: stopping the instance`, fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "active" && powerState === POWER_STATES.suspended) {
    logger.warn("guest of an active instance is suspended: stopping the instance", fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "stopped" && up) {
    logger.warn("guest of a stopped instance is running: stopping it", fields);
    await conductor.call("stop_instance", { instanceUuid: uuid });
  } else if (vmState === "active" && (powerState === POWER_STATES.paused || powerState === POWER_STATES.nostate)) {
    logger.warn("guest of an active instance is not running; nothing is done", fields);
  }
}
