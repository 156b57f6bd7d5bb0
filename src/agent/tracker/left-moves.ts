import { InvalidMigrationState } from "../../conductor-client/errors.js";
import { FINAL_MIGRATION_STATUSES, type Migration } from "../../records/index.js";
import type { TrackerState } from "./tracker-state.js";

/** Milliseconds that a move is left to those who have a part in it: none of their calls to each other waits longer for its answer. */
const LEFT_MOVE_TIMEOUT_MS = 60_000;

/** Finds those consumers that are the moves of instances which were deleted some time ago. */
export async function findLeftMoves(
  { context: { conductor, runtime }, options }: TrackerState,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, Migration>> {
  if (uuids.length === 0 || options.keepLeftMoves) {
    return new Map();
  }
  const moves = await conductor.call("migrations_by_filters", { filters: { uuids: [...uuids], readDeleted: true } });
  const before = runtime.clock.now() - LEFT_MOVE_TIMEOUT_MS;
  const idle = moves.filter(({ updatedAt, createdAt }) => (updatedAt ?? createdAt) < before);
  if (idle.length === 0) {
    return new Map();
  }
  const instances = await conductor.call("instances_by_filters", {
    filters: { uuids: idle.map(({ instanceUuid }) => instanceUuid) },
  });
  const gone = new Set(
    instances
      .filter(({ deleted, deletedAt, hidden }) => deleted !== 0 && !hidden && (deletedAt ?? 0) < before)
      .map(({ uuid }) => uuid),
  );
  return new Map(idle.filter(({ instanceUuid }) => gone.has(instanceUuid)).map((move) => [move.uuid, move]));
}

/** Its status says that it is over before what it holds goes (V13). False: somebody works on it after all. */
export async function endLeftMove(
  { context: { conductor, runtime } }: TrackerState,
  { id, status, instanceUuid: instance }: Migration,
): Promise<boolean> {
  if (FINAL_MIGRATION_STATUSES.includes(status)) {
    return true;
  }
  try {
    await conductor.call("migration_save", { id, changes: { status: "error" }, expectedStatus: [status] });
    return true;
  } catch (err) {
    if (!(err instanceof InvalidMigrationState)) {
      throw err;
    }
    runtime.logger.debug("the move of a deleted instance goes on: it is left until the next pass", {
      instance,
      migration: id,
    });
    return false;
  }
}
