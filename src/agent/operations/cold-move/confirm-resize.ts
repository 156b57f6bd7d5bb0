import { InstanceNotFound, UnexpectedTaskState } from "../../../conductor-client/errors.js";
import { FINAL_MIGRATION_STATUSES, type Instance, POWER_STATES } from "../../../records/index.js";
import type { Call } from "../flow/contract.js";
import { isLeaseLost, mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { finishSource } from "../flow/move-allocations.js";
import type { Move } from "../flow/release-allocations.js";
import { moveFlow, runSteps, STOP, stepList } from "../flow/step-list.js";
import { failMove, type MoveProgress, withoutOldVmState } from "./move-request.js";

/** What may fail. */
const STEPS = stepList<MoveProgress>("confirm_resize", {
  confirm_migration: async ({ services, move }) => {
    await services.context.driver.moves.confirmMigration(move.migration, move.instance, { network: [] });
  },
  drop_claim: async (progress) => {
    const { move } = progress;
    const vmState = move.instance.powerState === POWER_STATES.shutdown ? "stopped" : "active";
    progress.move = await progress.services.tracker.dropMoveClaimAtSource(move, { vmState }, [
      null,
      "deleting",
      "soft-deleting",
    ]);
  },
});

interface Settled extends MoveProgress {
  /** Another process may have come to its end. */
  readonly repeated?: boolean;
}

/** What follows in any case. */
const SETTLE = stepList<Settled>("settle_confirmed", {
  release: async ({ services, move, request, repeated = false }) => {
    await finishSource(services, move, { requestId: request.requestId, repeated });
  },
  // At the very end: a pass in between still has to know the old usage (bug 1818914).
  clear: clearFlavors,
});

/** A task_state may be somebody else's by the time of the write; it is the next move's at the most once. */
const CLEAR_ATTEMPTS = 4;

/**
 * The instance is its user's since the claim was dropped: what a next move has written there by now is that one's. Whether the half has
 * gone, too, may be told when that has ended.
 */
async function clearFlavors({ services, move }: MoveProgress): Promise<void> {
  const { conductor, runtime } = services.context;
  for (let attempt = 1; ; attempt += 1) {
    const instance = await conductor.call("instance_get", { uuid: move.instance.uuid });
    if (instance === null) {
      return;
    }
    if (isMovedAgain(instance, move.instance)) {
      services.unsettled.note(runtime.clock.now());
      return;
    }
    const changes = { oldFlavor: null, newFlavor: null, ...withoutOldVmState({ ...move, instance }) };
    try {
      await services.tracker.saveMove({ ...move, instance, changes, expectedTaskState: [instance.taskState] });
      return;
    } catch (error) {
      if (!(error instanceof UnexpectedTaskState) || attempt === CLEAR_ATTEMPTS) {
        throw error;
      }
    }
  }
}

/** From its first task_state to the last the next move has one of its own, or waits for its confirmation. */
function isMovedAgain({ taskState, vmState }: Instance, before: Instance): boolean {
  return (taskState?.startsWith("resize_") ?? false) || (vmState === "resized" && before.vmState !== "resized");
}

/** A move was ended because its instance was evacuated from the destination: what is left here is nobody's. */
const CLEAN_UP_SOURCE = stepList<MoveProgress>("clean_up_source", {
  accept: async ({ services, move }) => {
    const { conductor, host, runtime } = services.context;
    const { uuid: instanceUuid, host: now } = move.instance;
    const others = await conductor.call("migrations_by_filters", { filters: { instanceUuid } });
    const comes = others.some(
      ({ destCompute, status }) => destCompute === host && !FINAL_MIGRATION_STATUSES.includes(status),
    );
    const wentAgain = others.some(
      ({ id, sourceCompute, migrationType }) =>
        id > move.migration.id &&
        sourceCompute === host &&
        (migrationType === "migration" || migrationType === "resize"),
    );
    if (now !== host && !comes && !wentAgain) {
      return undefined;
    }
    runtime.logger.warn("what a move left here is kept: the instance is here, is on its way, or has left once more", {
      instance: instanceUuid,
      migration: move.migration.id,
    });
    return STOP;
  },
  confirm_migration: async ({ services, move }) => {
    await services.context.driver.moves.confirmMigration(move.migration, move.instance, { network: [] });
  },
  recount: async ({ services, move }) => {
    await services.tracker.updateAvailableResourceForNode(move.migration.sourceNode ?? "");
  },
});

/** Spec 6.3 "Confirm", on the source. */
export const CONFIRM_RESIZE = moveFlow<"confirm_resize">({ steps: [STEPS, SETTLE], run: confirm });

/** @throws what went wrong; the instance is then in error, without what it held on the source if that could be removed. */
async function confirm({ services, request, event }: Call<"confirm_resize">, move: Move): Promise<void> {
  const progress: MoveProgress = { services, request, move };
  try {
    await withActionEvent(services.context, event, async () => {
      if (move.migration.status === "error") {
        await runSteps(services, CLEAN_UP_SOURCE, progress);
      } else {
        await confirmAndSettle(progress);
      }
    });
  } catch (error) {
    if (mustNotUndo(error)) {
      services.unsettled.note(services.context.runtime.clock.now());
    }
    throw error;
  }
}

async function confirmAndSettle(progress: MoveProgress): Promise<void> {
  const { services } = progress;
  let failure: { readonly error: unknown } | null = null;
  try {
    if (!(await runSteps(services, STEPS, progress))) {
      return;
    }
  } catch (error) {
    if (mustNotUndo(error)) {
      throw error;
    }
    failure = { error };
  }
  try {
    await runSteps(services, SETTLE, progress);
  } catch (error) {
    if (isLeaseLost(error)) {
      throw error;
    }
    failure ??= { error };
  }
  if (failure) {
    await confirmFailed(progress, failure.error);
  }
}

/** The end of a confirmation that died when it had written `confirmed`. @throws what the failed step threw */
export async function settleConfirmed(progress: MoveProgress): Promise<void> {
  await runSteps(progress.services, SETTLE, { ...progress, repeated: true });
}

async function confirmFailed(progress: MoveProgress, error: unknown): Promise<void> {
  // Deleted meanwhile: what the source held is gone, and so is the migration.
  if (error instanceof InstanceNotFound) {
    return;
  }
  await failMove(progress, { vmState: "error", oldFlavor: null, newFlavor: null }, error);
  throw error;
}
