import { UnexpectedTaskState } from "../../../conductor/errors.js";
import type { Instance, MigrationStatus } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";
import { revertToSource } from "../moves/move-allocations.js";
import { bringGuestBack } from "./bring-guest-back.js";
import { finishFailed } from "./finish-resize.js";
import { failMove, type MoveProgress } from "./move-request.js";
import { revertFailed } from "./revert-resize.js";

interface Overtaken {
  readonly statuses: readonly MigrationStatus[];
  readonly side: "sourceCompute" | "destCompute";
  readonly end: (progress: MoveProgress, error: Error) => Promise<void>;
}

/** At each step of a move one host has the instance, and ends the move when it has lost the task_state. */
const OVERTAKEN: readonly Overtaken[] = [
  { statuses: ["pre-migrating", "migrating"], side: "sourceCompute", end: endOnSource },
  { statuses: ["post-migrating"], side: "destCompute", end: finishFailed },
  { statuses: ["reverting"], side: "destCompute", end: revertFailed },
];

/**
 * Ends the cold move of an instance whose task_state another request has taken for good. Whoever takes the next step of the move
 * would do the same, but may have died, and no start of it finds a move by another's task_state.
 */
export async function endOvertakenMove(
  services: OperationServices,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { conductor, host } = services.context;
  const moves = await conductor.call("migrations_by_filters", {
    filters: {
      instanceUuid: instance.uuid,
      host,
      migrationTypes: ["migration", "resize"],
      statuses: OVERTAKEN.flatMap(({ statuses }) => statuses),
    },
  });
  for (const migration of moves) {
    const found = OVERTAKEN.find(
      ({ statuses, side }) => statuses.includes(migration.status) && migration[side] === host,
    );
    if (found) {
      const request = { instanceUuid: instance.uuid, migrationId: migration.id, requestId };
      const error = new UnexpectedTaskState(`instance ${instance.uuid} is ${instance.taskState} by now`);
      await found.end({ services, request, move: { instance, migration } }, error);
    }
  }
}

async function endOnSource(progress: MoveProgress, error: Error): Promise<void> {
  const { services, request, move } = progress;
  await bringGuestBack(progress);
  await revertToSource(services, move, { requestId: request.requestId });
  await failMove(progress, null, error);
}
