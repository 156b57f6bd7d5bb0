import { isConductorError } from "../../../conductor-client/errors.js";
import { FINAL_MIGRATION_STATUSES, type Instance, POWER_STATES } from "../../../records/index.js";
import type { Call } from "../flow/contract.js";
import { isLeaseLost, mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { finishSource } from "../flow/move-allocations.js";
import { moveFlow, runSteps, STOP, stepList } from "../flow/step-list.js";
import { failMove, type MoveProgress, withoutOldVmState } from "./move-request.js";

/** The steps that may fail. */
const STEPS = stepList<MoveProgress>("confirm_resize", {
  confirm_migration: async ({ services, move }) => {
    await services.driver.confirmMigration(move.migration, move.instance, { network: [] });
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
  /** True if an earlier process may have completed the steps already. */
  readonly repeated?: boolean;
}

/** The steps that follow in any case. */
const SETTLE = stepList<Settled>("settle_confirmed", {
  release: async ({ services, move, request, repeated = false }) => {
    await finishSource(services, move, { requestId: request.requestId, repeated });
  },
  // Last of all: a pass in between must still know the old usage (bug 1818914).
  clear: clearFlavors,
});

/** Another request may change the task_state before the write; the next move can do so only once. */
const CLEAR_ATTEMPTS = 4;

/**
 * Clears the old flavors. Since the claim was dropped, users may change the instance: values that a next move has
 * written by now are left. Whether the source allocations are gone is checked again when that move has ended.
 */
async function clearFlavors({ services, move }: MoveProgress): Promise<void> {
  const { conductor, runtime } = services;
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
      if (!isConductorError(error, "UnexpectedTaskState") || attempt === CLEAR_ATTEMPTS) {
        throw error;
      }
    }
  }
}

/** Returns whether a next move has begun: it has a `resize_` task_state, or waits for its confirmation. */
function isMovedAgain({ taskState, vmState }: Instance, before: Instance): boolean {
  return (taskState?.startsWith("resize_") ?? false) || (vmState === "resized" && before.vmState !== "resized");
}

/** Removes the leftovers here of a move that ended because its instance was evacuated from the destination. */
const CLEAN_UP_SOURCE = stepList<MoveProgress>("clean_up_source", {
  accept: async ({ services, move }) => {
    const { conductor, host, logger } = services;
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
    logger.warn("the leftovers of a move are kept: the instance is here, is on its way here, or has moved away again", {
      instance: instanceUuid,
      migration: move.migration.id,
    });
    return STOP;
  },
  confirm_migration: async ({ services, move }) => {
    await services.driver.confirmMigration(move.migration, move.instance, { network: [] });
  },
  recount: async ({ services, move }) => {
    await services.tracker.updateAvailableResourceForNode(move.migration.sourceNode ?? "");
  },
});

/** Spec 6.3 "Confirm", on the source. */
export const CONFIRM_RESIZE = moveFlow<"confirm_resize">({ steps: [STEPS, SETTLE], run: confirm });

/** @throws the failed step's error; the instance is then in error, and its source allocations are removed if possible */
async function confirm(progress: MoveProgress, { event }: Call<"confirm_resize">): Promise<void> {
  const { services, move } = progress;
  try {
    await withActionEvent(services, event, async () => {
      if (move.migration.status === "error") {
        await runSteps(services, CLEAN_UP_SOURCE, progress);
      } else {
        await confirmAndSettle(progress);
      }
    });
  } catch (error) {
    if (mustNotUndo(error)) {
      services.unsettled.note(services.runtime.clock.now());
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

/** Completes a confirmation that was killed after it had written `confirmed`. @throws the failed step's error */
export async function settleConfirmed(progress: MoveProgress): Promise<void> {
  await runSteps(progress.services, SETTLE, { ...progress, repeated: true });
}

async function confirmFailed(progress: MoveProgress, error: unknown): Promise<void> {
  // Deleted meanwhile: the source allocations are gone, and so is the migration.
  if (isConductorError(error, "InstanceNotFound")) {
    return;
  }
  await failMove(progress, { vmState: "error", oldFlavor: null, newFlavor: null }, error);
  throw error;
}
