import {
  type Instance,
  type InstanceChanges,
  POWER_STATES,
  type PowerState,
  type TaskState,
} from "../../records/index.js";
import { NotImplemented, PciDeviceNotFound } from "../../virt/errors.js";
import { type AgentView, requestId } from "../context.js";
import { HostLeaseLost, requireHostLease } from "../host-lease.js";
import { mayBeSetAside } from "../operations/flow/other-moves.js";
import { disksOf } from "../operations/states/power.js";
import type { AgentServices } from "../services.js";
import { type InitAction, type InitStep, planInitInstance, REPEATED_OPERATIONS } from "./init-rows.js";
import { MOVE_RECOVERIES, planTakeGuestBack } from "./plan-move-recovery.js";
import { recoverMove } from "./recover-move.js";
import { recoverVolumes } from "./recover-volumes.js";
import { messageWaits, requireAsFound, unlessTaken } from "./unless-taken.js";

/** Plans the actions of start-up on one instance; changes nothing. */
export async function planInit(
  view: AgentView,
  instance: Instance,
): Promise<{ readonly steps: readonly InitStep[]; readonly power: PowerState }> {
  const power = instance.host === view.host ? await view.driver.powerState(instance) : POWER_STATES.nostate;
  const resumeGuests = view.config.defaults.resumeGuestsStateOnHostBoot;
  const plugsVifs = view.driver.supports("plugVifs");
  return { steps: planInitInstance({ host: view.host, instance, power, resumeGuests, plugsVifs }), power };
}

/**
 * The task_states in which a queued message can begin, while a start would otherwise abandon the operation, consider it
 * done, or attempt it first (2.6). A failed delete leaves a usable server, and its message is admitted in any state.
 */
const BEGINNINGS: readonly (TaskState | null)[] = [
  "deleting",
  "rebuilding",
  "shelving",
  "rescuing",
  "pausing",
  "image_snapshot_pending",
];

/** Runs spec 2.6 for one instance, unless another request has taken it meanwhile. */
export async function initInstance(services: AgentServices, instance: Instance): Promise<void> {
  await unlessTaken(services, { instance: instance.uuid }, async () => {
    await initialise(services, instance);
    await recoverVolumes(services, instance);
    await reportPorts(services, instance);
  });
}

/**
 * Reports ports that the guest has and that nobody has reported: the agent died before it could, or they were attached
 * while none ran. A driver that plugs ports reports them itself.
 */
async function reportPorts({ driver, ports, logger, host }: AgentServices, instance: Instance): Promise<void> {
  if (driver.supports("plugVifs") || instance.host !== host) {
    return;
  }
  try {
    const network = await ports.of(instance);
    if (network.length > 0 && (await driver.powerState(instance)) !== POWER_STATES.nostate) {
      await ports.connected(instance.uuid, network);
    }
  } catch (err) {
    rethrowLostLease(err);
    logger.warn("could not report the ports of a guest", { instance: instance.uuid, err });
  }
}

async function initialise(services: AgentServices, found: Instance): Promise<void> {
  const { steps, power } = await planInit(services, found);
  const acts = steps.some(({ action }) => action.kind !== "leave");
  // The list of instances was read before everything that start-up has done since.
  let instance = acts ? await requireAsFound(services, found) : found;
  const waits = BEGINNINGS.includes(found.taskState) && (await messageWaits(services, found));
  for (const { row, action } of steps) {
    if (waits && (action.kind === "save" || action.kind === "terminate")) {
      continue;
    }
    if (action.kind === "plug-vifs") {
      if (await plugVifs(services, instance)) {
        continue;
      }
      return;
    }
    services.logger.info(`start-up handles an instance: ${row}`, {
      instance: instance.uuid,
      vm_state: instance.vmState,
      task_state: instance.taskState,
      action: action.kind,
    });
    if (action.kind === "save") {
      instance = await saveAsFound(services, instance, action.changes, requestId(services));
    } else {
      await carryOut(services, instance, action, power);
    }
  }
}

/** @returns whether the following rows are evaluated */
async function plugVifs(services: AgentServices, instance: Instance): Promise<boolean> {
  const fields = { instance: instance.uuid, request_id: requestId(services) };
  try {
    await services.driver.plugVifs(instance);
    return true;
  } catch (error) {
    rethrowLostLease(error);
    if (error instanceof NotImplemented) {
      return true;
    }
    services.logger.error("could not plug the ports of the guest", { ...fields, err: error });
    if (!(error instanceof PciDeviceNotFound)) {
      await toError(services, instance, fields.request_id);
    }
    return false;
  }
}

/**
 * Sets the instance to error, unless it waits for its confirmation: in error its user could neither confirm nor revert
 * it, and its migration would occupy the source forever. An instance that has changed since was changed by the failed
 * action.
 */
async function toError(services: AgentServices, { uuid, vmState }: Instance, request: string): Promise<void> {
  if (vmState === "resized") {
    return;
  }
  const expected = { expectedHost: services.host, expectedVmState: [vmState] };
  await services.conductor.call(
    "instance_save",
    { uuid, changes: { vmState: "error" }, ...expected },
    { requestId: request },
  );
}

/** @throws the errors that {@link unlessTaken} handles: the instance has changed since it was read */
function saveAsFound(
  { conductor, host }: AgentServices,
  { uuid, taskState, vmState }: Instance,
  changes: InstanceChanges,
  request: string,
): Promise<Instance> {
  requireHostLease({ conductor, host }, `initialise instance ${uuid}`);
  const expected = { expectedTaskState: [taskState], expectedVmState: [vmState], expectedHost: host };
  return conductor.call("instance_save", { uuid, changes, ...expected }, { requestId: request });
}

async function carryOut(
  services: AgentServices,
  instance: Instance,
  action: Exclude<InitAction, { readonly kind: "plug-vifs" | "save" }>,
  power: PowerState,
): Promise<void> {
  const { operations } = services;
  // The operation continues with the id of the request that began it.
  const request = instance.taskRequestId ?? requestId(services);
  const { uuid } = instance;
  const message = { instanceUuid: uuid, requestId: request };
  const succeeds = async (purpose: string, work: Promise<unknown>): Promise<boolean> => {
    try {
      await work;
      return true;
    } catch (error) {
      rethrowLostLease(error);
      services.logger.error(`could not ${purpose}`, { instance: uuid, request_id: request, err: error });
      return false;
    }
  };
  if (action.kind !== "leave") {
    requireHostLease(services, `initialise instance ${instance.uuid}`);
  }
  switch (action.kind) {
    case "leave":
      if (action.why) {
        services.logger.warn(`the instance is left alone: ${action.why}`, { instance: instance.uuid });
      }
      return;
    case "fail-build":
      // Without fencing, the agent that built it may still be working on it.
      if (services.driver.capabilities.supportsFencing) {
        await succeeds("remove what an interrupted build left", services.driver.failedSpawnCleanup(instance));
      }
      await saveAsFound(services, instance, action.changes, request);
      return;
    case "complete-partial-deletion":
      await succeeds("complete a delete that was interrupted", operations.completePartialDeletion(instance));
      return;
    case "terminate":
      if (!(await succeeds("complete a delete that was interrupted", operations.run("terminate_instance", message)))) {
        await toError(services, instance, request);
      }
      return;
    case "reboot":
      if (action.pendingHard) {
        await saveAsFound(services, instance, { taskState: "reboot_pending_hard" }, request);
      }
      await succeeds("reboot again", operations.run("reboot_instance", { ...message, type: action.type }));
      return;
    case "resume-on-host-boot": {
      const resumes = async () =>
        services.driver.resumeStateOnHostBoot(instance, ...(await disksOf(services, instance)));
      if (
        (await isAtRest(services, instance)) &&
        !(await succeeds("restore the guest after the host's boot", resumes()))
      ) {
        await toError(services, instance, request);
      }
      return;
    }
    case "unpause":
    case "stop":
    case "start":
    case "offload":
    case "change-state": {
      const name = action.kind === "change-state" ? action.change : action.kind;
      await succeeds(`${name} again`, operations.run(REPEATED_OPERATIONS[name], message));
      return;
    }
    case "take-guest-back":
      return takeGuestBack(services, uuid);
    default: {
      const recovery = await MOVE_RECOVERIES[action.kind](services, instance, power !== POWER_STATES.nostate);
      await recoverMove(services, instance, recovery, request);
    }
  }
}

/** A row above may have left a move unfinished: until it has ended, it is unknown whether the guest belongs here. */
async function isAtRest({ conductor, host }: AgentServices, { uuid }: Instance): Promise<boolean> {
  const now = await conductor.call("instance_get", { uuid });
  return now?.host === host && now.taskState === null;
}

/** Another agent may be acting for the host: this agent must not write its records. */
function rethrowLostLease(error: unknown): void {
  if (error instanceof HostLeaseLost) {
    throw error;
  }
}

/**
 * Runs spec 2.6 row 15' without a restart. Needed for a host that was only disconnected while an evacuation ended one
 * of its moves and then failed. Does nothing while an evacuation may still succeed, or this process works on the move.
 */
export async function takeGuestsBack(
  services: AgentServices,
  instances: readonly Instance[],
  pending: ReadonlySet<string>,
): Promise<void> {
  for (const instance of instances) {
    if (instance.taskState === null && mayBeSetAside(instance) && !pending.has(instance.uuid)) {
      // An error with one instance does not affect the others.
      await takeGuestBack(services, instance.uuid).catch((err: unknown) =>
        services.logger.error("could not settle a move that an evacuation has ended; retrying later", {
          instance: instance.uuid,
          err,
        }),
      );
    }
  }
}

/** Spec 2.6 row 15'. Completes the leftovers of a move that an evacuation has ended, if there are any. */
export async function takeGuestBack(services: AgentServices, uuid: string): Promise<void> {
  await unlessTaken(services, { instance: uuid }, () =>
    services.operations.exclusively(uuid, async () => {
      const instance = await services.conductor.call("instance_get", { uuid });
      if (instance?.host !== services.host || !mayBeSetAside(instance) || services.operations.outgoing.has(uuid)) {
        return;
      }
      await recoverMove(services, instance, await planTakeGuestBack(services, instance), requestId(services));
    }),
  );
}
