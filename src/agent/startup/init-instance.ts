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

/** What start-up will do about one instance; changes nothing. */
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
 * From which a message that waits for the host begins what a start would otherwise give up, take for done, or try before it (2.6):
 * a delete that fails leaves a server that its user may use again, and its message asks for nobody's leave.
 */
const BEGINNINGS: readonly (TaskState | null)[] = [
  "deleting",
  "rebuilding",
  "shelving",
  "rescuing",
  "pausing",
  "image_snapshot_pending",
];

/** Spec 2.6 for one instance, unless somebody else has it by now. */
export async function initInstance(services: AgentServices, instance: Instance): Promise<void> {
  await unlessTaken(services, { instance: instance.uuid }, () => initialise(services, instance));
}

async function initialise(services: AgentServices, found: Instance): Promise<void> {
  const { steps, power } = await planInit(services, found);
  const acts = steps.some(({ action }) => action.kind !== "leave");
  // The list of instances is as old as everything that start-up has done since.
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
    services.logger.info(`start-up finds an instance in the middle of something: ${row}`, {
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

/** @returns whether the rows below are looked at */
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
 * A server that waits for its confirmation stays so, as its user may confirm or revert it: in error it could be neither, and its
 * migration would hold the source for ever. One that is not as it was found has been left so by what failed.
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

/** @throws what {@link unlessTaken} takes: it is not as it was read last */
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
  // What goes on is the request's that began it.
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
      // Without a fence the agent that built it may still be at it.
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
      return toErrorUnless(
        services.driver.resumeStateOnHostBoot(instance),
        "bring the guest back after the host's boot",
      );
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

/** A row above may have left a move as it is: until that has ended, nobody knows whether the guest is wanted here. */
async function isAtRest({ conductor, host }: AgentServices, { uuid }: Instance): Promise<boolean> {
  const now = await conductor.call("instance_get", { uuid });
  return now?.host === host && now.taskState === null;
}

/** Another agent may be acting for the host: its records are not this agent's to write any more. */
function rethrowLostLease(error: unknown): void {
  if (error instanceof HostLeaseLost) {
    throw error;
  }
}

/**
 * For a host that has not died, only been cut off, while an evacuation ended a move of its own and then failed: what its start
 * would have done (spec 2.6 row 15'). Nothing is done while an evacuation may succeed still, or this process is at the move.
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

/** What hinders one does not keep the pass from the others. */
async function retriedLater(services: AgentServices, uuid: string): Promise<void> {
  try {
    await takeGuestBack(services, uuid);
  } catch (err) {
    services.logger.error("what an evacuation left of a move could not be settled; it is tried again", {
      instance: uuid,
      err,
    });
  }
}

/** Spec 2.6 row 15'. What is left of a move that an evacuation has ended comes to its end, if there is such. */
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
