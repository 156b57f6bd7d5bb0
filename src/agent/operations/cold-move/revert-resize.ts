import { storageShared } from "../../evacuation/shared-storage.js";
import type { AdmissionRejection } from "../admission/admission.js";
import type { Call } from "../contract.js";
import { setErrorIfSuperseded } from "../flow/error-when-superseded.js";
import { destroyOptions } from "../flow/guest-options.js";
import { runOperation } from "../flow/run-operation.js";
import { stepList } from "../flow/step-list.js";
import { deleteMigration, type Move } from "../moves/free-allocations.js";
import { moveFlow } from "../moves/move-flow.js";
import { failMove, isTaken, type MoveProgress, succeeded } from "./move-request.js";

const STEPS = stepList<MoveProgress>("revert_resize", {
  destroy: async (progress) => {
    const { services, move } = progress;
    await services.context.driver.destroy(move.instance, destroyOptions(!(await sharesStorage(progress))));
  },
  drop_claim: async (progress) => {
    progress.move = await progress.services.tracker.dropMoveClaimAtDestination(progress.move, {});
  },
  cast: async ({ services, request, move }) => {
    const { instanceUuid, migrationId, requestId } = request;
    const message = { instanceUuid, migrationId, requestId };
    await services.context.conductor.castAgent(move.migration.sourceCompute ?? "", "finish_revert_resize", message, {
      requestId,
    });
  },
});

/**
 * Spec 6.3 "Revert", on the destination. The allocations are the source's to put right, in both styles: until it has the instance,
 * the destination may fail, and keeps the server then.
 */
export const REVERT_RESIZE = moveFlow<"revert_resize">({ steps: [STEPS], run: revert, onRejected: onRevertRejected });

/** @throws the error, unless the instance was taken by somebody else: then only the event has it. */
async function revert(call: Call<"revert_resize">, move: Move): Promise<void> {
  const { services, request } = call;
  await runOperation(call, STEPS, { services, request, move }, revertFailed);
}

/**
 * Somebody else has the instance. One that is at home without the flavors of the move has been reverted by an earlier message; by its
 * host alone that cannot be told, as a resize may have stayed on it.
 */
export async function onRevertRejected(
  { services, request }: Call<"revert_resize" | "finish_revert_resize">,
  move: Move,
  { kind, error }: AdmissionRejection,
): Promise<void> {
  const { instance, migration } = move;
  const isSettled = instance.oldFlavor === null && instance.newFlavor === null;
  const isReverted = migration.status === "reverted" && instance.host === migration.sourceCompute && isSettled;
  if (kind === "gone" || (kind === "taken" && !isReverted)) {
    await revertFailed({ services, request, move }, error);
  }
}

/**
 * The instance stays where it is by its record, and its guest may be gone. One that is being deleted has no use for the source's
 * half.
 */
export async function revertFailed(progress: MoveProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  if (isTaken(error)) {
    await succeeded(progress, "drop what the migration holds", () =>
      deleteMigration(services, move.migration, { requestId: request.requestId }),
    );
    await setErrorIfSuperseded(services, move.instance, error);
    await failMove(progress, null, error);
    return;
  }
  await failMove(progress, { vmState: "error", taskState: null }, error);
  throw error;
}

/** The source's disks are the guest's own; where both hosts see the same ones, they stay (spec V5). */
async function sharesStorage({ services, move, request }: MoveProgress): Promise<boolean> {
  const { context } = services;
  const { sourceCompute } = move.migration;
  if (sourceCompute === context.host) {
    return true;
  }
  return storageShared({ ...context, logger: context.runtime.logger }, move.instance, sourceCompute, request.requestId);
}
