import { InstanceNotFound } from "../../../conductor/errors.js";
import { FINAL_MIGRATION_STATUSES, MIGRATION_STATUSES, POWER_STATES } from "../../../records/index.js";
import { isLeaseLost, mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { runSteps, STOP, stepList } from "../flow/step-list.js";
import { finishSource, type Move } from "../moves/move-allocations.js";
import type { OperationParts } from "../parts.js";
import { failMove, type MoveProgress, type MoveRequest, withoutOldVmState } from "./move-request.js";

/** Spec 6.3 "Confirm", on the source: what may fail. */
export const CONFIRM_RESIZE = stepList<MoveProgress>("confirm_resize", {
  confirm_migration: async ({ parts, move }) => {
    await parts.context.driver.confirmMigration(move.migration, move.instance, { network: [] });
  },
  drop_claim: async (progress) => {
    const { move } = progress;
    const vmState = move.instance.powerState === POWER_STATES.shutdown ? "stopped" : "active";
    progress.move = await progress.parts.tracker.dropMoveClaimAtSource(move, { vmState }, [
      null,
      "deleting",
      "soft-deleting",
    ]);
  },
});

/** What follows in any case. */
export const SETTLE_CONFIRMED = stepList<MoveProgress>("settle_confirmed", {
  release: async ({ parts, move, request }) => {
    await finishSource(parts, move, { requestId: request.requestId });
  },
  // At the very end: a pass in between still has to know the old usage (bug 1818914).
  clear: async ({ parts, move }) => {
    await parts.tracker.saveMove({
      ...move,
      changes: { oldFlavor: null, newFlavor: null, ...withoutOldVmState(move) },
    });
  },
});

/** A move was ended because its instance was evacuated from the destination: what is left here is nobody's. */
export const CLEAN_UP_SOURCE = stepList<MoveProgress>("clean_up_source", {
  accept: async ({ parts, move }) => {
    const { conductor, host, runtime } = parts.context;
    const { uuid: instanceUuid, host: now } = move.instance;
    const statuses = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));
    const filters = { instanceUuid, destCompute: host, statuses };
    const comes = now === host || (await conductor.call("migrations_by_filters", { filters })).length > 0;
    if (!comes) {
      return undefined;
    }
    runtime.logger.warn("what a move left here is kept: the instance is here, or on its way", {
      instance: instanceUuid,
      migration: move.migration.id,
    });
    return STOP;
  },
  confirm_migration: async ({ parts, move }) => {
    await parts.context.driver.confirmMigration(move.migration, move.instance, { network: [] });
  },
  recount: async ({ parts, move }) => {
    await parts.tracker.updateAvailableResourceForNode(move.migration.sourceNode ?? "");
  },
});

/** @throws what went wrong; the instance is then in error, without what it held on the source if that could be removed. */
export async function confirmResize(parts: OperationParts, request: MoveRequest, move: Move): Promise<void> {
  const progress: MoveProgress = { parts, request, move };
  const { instanceUuid, requestId } = request;
  await withActionEvent(parts.context, { instanceUuid, requestId, event: "compute_confirm_resize" }, async () => {
    if (move.migration.status === "error") {
      await runSteps(parts, CLEAN_UP_SOURCE, progress);
      return;
    }
    let failure: { readonly error: unknown } | null = null;
    try {
      if (!(await runSteps(parts, CONFIRM_RESIZE, progress))) {
        return;
      }
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      failure = { error };
    }
    try {
      await runSteps(parts, SETTLE_CONFIRMED, progress);
    } catch (error) {
      if (isLeaseLost(error)) {
        throw error;
      }
      failure ??= { error };
    }
    if (failure) {
      await confirmFailed(progress, failure.error);
    }
  });
}

/** The end of a confirmation that died when it had written `confirmed`. @throws what the failed step threw */
export async function settleConfirmed(parts: OperationParts, request: MoveRequest, move: Move): Promise<void> {
  await runSteps(parts, SETTLE_CONFIRMED, { parts, request, move });
}

async function confirmFailed(progress: MoveProgress, error: unknown): Promise<void> {
  // Deleted meanwhile: what the source held is gone, and so is the migration.
  if (error instanceof InstanceNotFound) {
    return;
  }
  await failMove(progress, { vmState: "error", oldFlavor: null, newFlavor: null }, error);
  throw error;
}
