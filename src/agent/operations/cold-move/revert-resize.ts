import { flavorColumns, type InstanceChanges, type TaskState } from "../../../records/index.js";
import { ignore } from "../../ignore-errors.js";
import type { AdmissionRejection } from "../flow/admission.js";
import { attempt, setErrorIfSuperseded } from "../flow/error-wrappers.js";
import { destroyOptions, storageShared } from "../flow/guest-options.js";
import { flavorsOf, revertToSource } from "../flow/move-allocations.js";
import { deleteMigration } from "../flow/release-allocations.js";
import { moveFlow, runOperation, stepList } from "../flow/step-list.js";
import {
  failMove,
  heldByGuest,
  isTaken,
  type MoveProgress,
  stepMessage,
  succeeded,
  wasStopped,
  withoutOldVmState,
} from "./move-request.js";

const STEPS = stepList<MoveProgress>("revert_resize", {
  destroy: async (progress) => {
    const { services, move } = progress;
    await services.driver.destroy(
      move.instance,
      await destroyOptions(services, move.instance, !(await sharesStorage(progress))),
    );
  },
  release_volumes: ({ services, move }) => services.volumes.reserveAgain(move.instance),
  drop_claim: async (progress) => {
    progress.move = await progress.services.tracker.dropMoveClaimAtDestination(progress.move, {});
  },
  cast: async ({ services, request, move }) => {
    const { requestId } = request;
    const host = move.migration.sourceCompute ?? "";
    await services.conductor.castAgent(host, "finish_revert_resize", stepMessage(request), { requestId });
  },
});

/**
 * Spec 6.3 "Revert", on the destination. The source corrects the allocations, in both styles: until it has the
 * instance, the destination may fail, and the server then stays there. If another request took the instance over, only
 * the event records the error.
 */
export const REVERT_RESIZE = moveFlow<"revert_resize">({
  steps: [STEPS],
  run: (message, call) => runOperation(call, STEPS, message, revertFailed),
  onRejected: onRevertRejected,
});

/**
 * Ends the revert: another request owns the instance. An instance on the source without the move's flavors was reverted
 * by an earlier message. The host alone is no proof, as a resize may have stayed on one host.
 */
async function onRevertRejected(message: MoveProgress, { kind, error }: AdmissionRejection): Promise<void> {
  const { instance, migration } = message.move;
  const isSettled = instance.oldFlavor === null && instance.newFlavor === null;
  const isReverted = migration.status === "reverted" && instance.host === migration.sourceCompute && isSettled;
  if (kind === "gone" || (kind === "taken" && !isReverted)) {
    await revertFailed(message, error);
  }
}

/** The instance stays on its host, perhaps without a guest. A deleted one does not need the source allocations. */
export async function revertFailed(progress: MoveProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  if (isTaken(error)) {
    await succeeded(progress, "remove the allocations of the migration", () =>
      deleteMigration(services, move.migration, { requestId: request.requestId }),
    );
    await setErrorIfSuperseded(services, move.instance, error);
    await failMove(progress, null, error);
    return;
  }
  await failMove(progress, { vmState: "error", taskState: null }, error);
  throw error;
}

/** Returns whether both hosts share storage: the source's disks then belong to the guest, and stay (spec V5). */
async function sharesStorage({ services, move, request }: MoveProgress): Promise<boolean> {
  const { sourceCompute } = move.migration;
  if (sourceCompute === services.host) {
    return true;
  }
  return storageShared({ ...services, logger: services.logger }, move.instance, sourceCompute, request.requestId);
}

const FINISH_REVERT_STEPS = stepList<MoveProgress>("finish_revert_resize", {
  home: async (progress) => {
    const { services, move } = progress;
    const { host, conductor } = services;
    const { sourceNode: node } = move.migration;
    const row = await conductor.call("compute_node_get_by_host_and_node", { host, node: node ?? "" });
    const { oldFlavor } = flavorsOf(move.instance, move.migration);
    progress.move = await services.tracker.saveMove({
      ...move,
      changes: { ...flavorColumns(oldFlavor), host, node, computeId: row?.id ?? null },
      expectedTaskState: ["resize_reverting"],
    });
  },
  allocations: async ({ services, move, request }) => {
    await revertToSource(services, move, { requestId: request.requestId });
  },
  finish_revert_migration: async (progress) => {
    const { services, move } = progress;
    const allocations = await heldByGuest(progress);
    const blockDevices = await services.volumes.connect(move.instance, { completes: false });
    await services.driver.finishRevertMigration(move.instance, {
      network: [],
      allocations,
      migration: move.migration,
      blockDevices,
      powerOn: !wasStopped(move),
    });
    await services.volumes.complete(move.instance);
  },
  record: async (progress) => {
    const { services, move } = progress;
    const { driver, runtime } = services;
    const powerState = await driver.powerState(move.instance);
    const changes: InstanceChanges = {
      vmState: wasStopped(move) ? "stopped" : "active",
      taskState: null,
      powerState,
      launchedAt: runtime.clock.now(),
      oldFlavor: null,
      newFlavor: null,
      ...withoutOldVmState(move),
    };
    progress.move = await services.tracker.saveMove({ ...move, changes, expectedTaskState: ["resize_reverting"] });
  },
});

/** Spec 6.3 "Revert", on the source. If another request took the instance over, only the event records the error. */
export const FINISH_REVERT_RESIZE = moveFlow<"finish_revert_resize">({
  steps: [FINISH_REVERT_STEPS],
  run: (message, call) => runOperation(call, FINISH_REVERT_STEPS, message, finishRevertFailed),
  onRejected: onRevertRejected,
});

export async function finishRevertFailed(progress: MoveProgress, error: unknown): Promise<void> {
  await forgetFlavors(progress);
  await revertFailed(progress, error);
}

/** The revert's own task_state, and those of a delete that has taken the instance from it. */
const REVERTED: readonly TaskState[] = ["resize_reverting", "deleting", "soft-deleting"];

/** Clears the move's flavors, unless the instance was evacuated meanwhile and they belong to its next move. */
async function forgetFlavors({ services, request, move }: MoveProgress): Promise<void> {
  const { host } = move.instance;
  const changes = { oldFlavor: null, newFlavor: null };
  const expected = { expectedTaskState: REVERTED, ...(host === null ? {} : { expectedHost: host }) };
  await attempt(services, request.instanceUuid, "clear the flavors of the move", () =>
    services.tracker
      .saveMove({ ...move, changes, ...expected })
      .catch(ignore(["InstanceNotFound", "UnexpectedTaskState", "ObjectActionError"])),
  );
}
