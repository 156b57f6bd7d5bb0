import { ObjectActionError } from "../../../conductor-client/errors.js";
import { flavorColumns, type InstanceChanges, type TaskState } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import type { Call } from "../contract.js";
import { attempt } from "../flow/error-wrappers.js";
import { runOperation } from "../flow/run-operation.js";
import { stepList } from "../flow/step-list.js";
import type { Move } from "../moves/free-allocations.js";
import { flavorsOf, revertToSource } from "../moves/move-allocations.js";
import { moveFlow } from "../moves/move-flow.js";
import { heldByGuest, isTaken, type MoveProgress, wasStopped, withoutOldVmState } from "./move-request.js";
import { onRevertRejected, revertFailed } from "./revert-resize.js";

const STEPS = stepList<MoveProgress>("finish_revert_resize", {
  home: async (progress) => {
    const { services, move } = progress;
    const { host, conductor } = services.context;
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
    await services.context.driver.moves.finishRevertMigration(move.instance, {
      network: [],
      allocations,
      migration: move.migration,
      blockDevices: LOCAL_DISKS,
      powerOn: !wasStopped(move),
    });
  },
  record: async (progress) => {
    const { services, move } = progress;
    const { driver, runtime } = services.context;
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

/** Spec 6.3 "Revert", on the source. */
export const FINISH_REVERT_RESIZE = moveFlow<"finish_revert_resize">({
  steps: [STEPS],
  run: finishRevert,
  onRejected: onRevertRejected,
});

/** @throws the error, unless the instance was taken by somebody else: then only the event has it. */
async function finishRevert(call: Call<"finish_revert_resize">, move: Move): Promise<void> {
  const { services, request } = call;
  await runOperation(call, STEPS, { services, request, move }, finishRevertFailed);
}

export async function finishRevertFailed(progress: MoveProgress, error: unknown): Promise<void> {
  await forgetFlavors(progress);
  await revertFailed(progress, error);
}

/** The revert's own task_state, and those of a delete that has taken the instance from it. */
const REVERTED: readonly TaskState[] = ["resize_reverting", "deleting", "soft-deleting"];

/** Anybody else may have evacuated the instance, and have begun a next move: its flavors are that one's then. */
async function forgetFlavors({ services, request, move }: MoveProgress): Promise<void> {
  const { host } = move.instance;
  const changes = { oldFlavor: null, newFlavor: null };
  const expected = { expectedTaskState: REVERTED, ...(host === null ? {} : { expectedHost: host }) };
  await attempt(services.context, request.instanceUuid, "forget the flavors of the move", async () => {
    try {
      await services.tracker.saveMove({ ...move, changes, ...expected });
    } catch (error) {
      if (!(isTaken(error) || error instanceof ObjectActionError)) {
        throw error;
      }
    }
  });
}
