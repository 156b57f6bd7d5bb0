import { ObjectActionError, UnexpectedTaskState, UnexpectedVmState } from "../../../conductor-client/errors.js";
import { type Instance, POWER_STATES, type PowerState, type VmState } from "../../../records/index.js";
import type { OperationServices, PowerUpdate } from "../contract.js";
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
 * Nova's `power_update` (spec 6.6). An instance in another state, or with a task, keeps its state, and the event succeeds.
 *
 * Nova believes the event. Here the driver is asked: an event that waited for its host may be older than the guest's last start, and the
 * power sync would then stop a guest that must run. One write changes the state, so that a crash leaves no task_state behind.
 */
export async function updatePower(
  services: OperationServices,
  { instanceUuid, requestId, target }: PowerUpdate,
): Promise<void> {
  const { context } = services;
  const { conductor, host, runtime } = context;
  const instance = await conductor.call("instance_get", { uuid: instanceUuid }, { requestId });
  if (instance?.host !== host) {
    runtime.logger.debug(`power-update ${target}: the instance is not on this host`, { instance: instanceUuid });
    return;
  }
  const event = { instanceUuid, requestId, event: "compute_power_update" };
  await withActionEvent(context, event, () =>
    recordingFault(context, instanceUuid, async () => {
      if (isTarget(target) && matches(instance, CHANGES[target].from)) {
        await savePowerState(services, instance, target);
      } else {
        const { vmState, taskState, powerState } = instance;
        runtime.logger.info(`power-update ${target} is a no-op in the state of the instance`, {
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

async function savePowerState({ context }: OperationServices, instance: Instance, target: Target): Promise<void> {
  const { conductor, driver, host, runtime } = context;
  const { from, to } = CHANGES[target];
  const { uuid } = instance;
  await driver.powerUpdateEvent(instance, target);
  const powerState = await driver.powerState(instance);
  if (powerState !== to.powerState) {
    const fields = { instance: uuid, power_state: powerState };
    runtime.logger.info(`power-update ${target} is outdated: the guest has another power state`, fields);
    return;
  }
  try {
    await conductor.call("instance_save", {
      uuid,
      changes: { ...to, taskState: null },
      expectedTaskState: [null],
      expectedVmState: [from.vmState],
      expectedHost: host,
    });
  } catch (err) {
    if (!isPreempted(err)) {
      throw err;
    }
    runtime.logger.info(`power-update ${target} was preempted by another request`, { instance: uuid, err });
  }
}

/** The instance has another state or host by now. */
function isPreempted(error: unknown): boolean {
  return (
    error instanceof UnexpectedTaskState || error instanceof UnexpectedVmState || error instanceof ObjectActionError
  );
}
