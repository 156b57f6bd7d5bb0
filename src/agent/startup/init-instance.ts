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
import type { AgentServices } from "../operations/flow/contract.js";
import { mayBeSetAside } from "../operations/flow/other-moves.js";
import { type InitAction, type InitStep, planInitInstance, STATE_CHANGES } from "./init-rows.js";
import {
  planFailResize,
  planLiveMigrationRecovery,
  planRevertResize,
  planTakeGuestBack,
  planUndoResizePrep,
} from "./plan-move-recovery.js";
import { recoverMove } from "./recover-move.js";
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
  await unlessTaken(services, { instance: instance.uuid }, () => initialise(services, instance));
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
  const toErrorUnless = async (work: Promise<unknown>, purpose: string): Promise<void> => {
    try {
      await work;
    } catch (error) {
      rethrowLostLease(error);
      services.logger.error(`could not ${purpose}`, { instance: instance.uuid, request_id: request, err: error });
      await toError(services, instance, request);
    }
  };
  const loggedIfFails = async (work: Promise<unknown>, purpose: string): Promise<void> => {
    try {
      await work;
    } catch (error) {
      rethrowLostLease(error);
      services.logger.error(`could not ${purpose}`, { instance: instance.uuid, request_id: request, err: error });
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
        await loggedIfFails(services.driver.failedSpawnCleanup(instance), "remove what an interrupted build left");
      }
      await saveAsFound(services, instance, action.changes, request);
      return;
    case "complete-partial-deletion":
      return loggedIfFails(operations.completePartialDeletion(instance), "complete a delete that was interrupted");
    case "terminate":
      return toErrorUnless(operations.run("terminate_instance", message), "complete a delete that was interrupted");
    case "reboot": {
      if (action.pendingHard) {
        await saveAsFound(services, instance, { taskState: "reboot_pending_hard" }, request);
      }
      return loggedIfFails(operations.run("reboot_instance", { ...message, type: action.type }), "reboot again");
    }
    case "unpause":
      return loggedIfFails(operations.run("unpause_instance", message), "unpause again");
    case "stop":
      return loggedIfFails(operations.run("stop_instance", message), "stop again");
    case "start":
      return loggedIfFails(operations.run("start_instance", message), "start again");
    case "resume-on-host-boot":
      if (!(await isAtRest(services, instance))) {
        return;
      }
      return toErrorUnless(services.driver.resumeStateOnHostBoot(instance), "restore the guest after the host's boot");
    case "offload":
      return loggedIfFails(operations.run("shelve_offload_instance", message), "offload again");
    case "change-state":
      return loggedIfFails(operations.run(STATE_CHANGES[action.change], message), `${action.change} again`);
    case "take-guest-back":
      return takeGuestBack(services, uuid);
    case "undo-resize-prep":
      return recoverMove(services, instance, await planUndoResizePrep(services, instance), request);
    case "revert-resize":
      return recoverMove(services, instance, await planRevertResize(services, instance), request);
    case "fail-resize":
      return recoverMove(services, instance, await planFailResize(services, instance), request);
    case "recover-live-migration":
      return recoverMove(
        services,
        instance,
        await planLiveMigrationRecovery(services, instance, power !== POWER_STATES.nostate),
        request,
      );
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
      await retriedLater(services, instance.uuid);
    }
  }
}

/** An error with one instance does not affect the others. */
async function retriedLater(services: AgentServices, uuid: string): Promise<void> {
  try {
    await takeGuestBack(services, uuid);
  } catch (err) {
    services.logger.error("could not settle a move that an evacuation has ended; retrying later", {
      instance: uuid,
      err,
    });
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
