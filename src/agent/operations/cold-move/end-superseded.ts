import { UnexpectedTaskState } from "../../../conductor-client/errors.js";
import type { Instance, Migration, MigrationStatus } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";
import { revertToSource } from "../moves/move-allocations.js";
import { bringGuestBack } from "./bring-guest-back.js";
import { COLD } from "./confirmed-moves.js";
import { finishFailed } from "./finish-resize.js";
import { finishRevertFailed } from "./finish-revert-resize.js";
import { failMove, type MoveProgress, succeeded } from "./move-request.js";
import { revertFailed } from "./revert-resize.js";

interface SupersededMoveRule {
  readonly statuses: readonly MigrationStatus[];
  readonly side: "sourceCompute" | "destCompute";
  readonly end: (progress: MoveProgress, error: Error) => Promise<void>;
}

/** At each step of a move one host has the instance, and ends the move when it has lost the task_state. */
const SUPERSEDED_MOVE_RULES: readonly SupersededMoveRule[] = [
  { statuses: ["pre-migrating", "migrating"], side: "sourceCompute", end: endOnSource },
  { statuses: ["post-migrating"], side: "destCompute", end: finishFailed },
  { statuses: ["reverting"], side: "destCompute", end: revertFailed },
];

/**
 * Ends the cold move of an instance whose task_state another request has taken for good. Whoever takes the next step of the move
 * would do the same, but may have died, and no start of it finds a move by another's task_state. May be repeated.
 */
export async function endSupersededMove(
  services: OperationServices,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { conductor, host } = services.context;
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid: instance.uuid, host } });
  const last = Math.max(...moves.map(({ id }) => id));
  for (const migration of moves.filter(({ migrationType }) => COLD.includes(migrationType))) {
    const end =
      migration.status === "reverted"
        ? migration.id === last && endOfRevert(instance, migration)
        : SUPERSEDED_MOVE_RULES.find(
            ({ statuses, side }) => statuses.includes(migration.status) && migration[side] === host,
          )?.end;
    if (end) {
      const request = { instanceUuid: instance.uuid, migrationId: migration.id, requestId };
      const error = new UnexpectedTaskState(`instance ${instance.uuid} is ${instance.taskState} by now`);
      await end({ services, request, move: { instance, migration } }, error);
    }
  }
}

/**
 * The destination has given its guest up, and the source has not made its own yet, as the flavors of the move say, which go last:
 * it will find that the move is not its to finish. On one host the flavor says whether it has begun to.
 * @returns undefined: the revert has come to its end
 */
function endOfRevert({ host, flavor, oldFlavor, newFlavor }: Instance, migration: Migration) {
  if (oldFlavor === null && newFlavor === null) {
    return undefined;
  }
  const { sourceCompute, destCompute, oldInstanceTypeId } = migration;
  const isHome = host === sourceCompute && (sourceCompute !== destCompute || flavor.id === oldInstanceTypeId);
  return isHome ? endAtHome : host === destCompute ? revertFailed : undefined;
}

/** The source has the instance, and has died before it had its guest. */
async function endAtHome(progress: MoveProgress, error: Error): Promise<void> {
  await restoreSourceAllocations(progress);
  await finishRevertFailed(progress, error);
}

async function endOnSource(progress: MoveProgress, error: Error): Promise<void> {
  await bringGuestBack(progress, error);
  await restoreSourceAllocations(progress);
  await failMove(progress, null, error);
}

/** The move ends also where Placement refuses it; then somebody has to look at what the migration holds (spec 9.3). */
async function restoreSourceAllocations(progress: MoveProgress): Promise<void> {
  const { services, request, move } = progress;
  await succeeded(progress, "give the allocations back to the instance", () =>
    revertToSource(services, move, { requestId: request.requestId }),
  );
}
