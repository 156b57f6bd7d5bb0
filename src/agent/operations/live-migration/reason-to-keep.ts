import { FINAL_MIGRATION_STATUSES, type Instance, MIGRATION_STATUSES, type Migration } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";

const UNFINISHED = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/**
 * Why what a live migration left on this host, at either of its ends, is not removed; null: it belongs to nobody. The
 * instance may have come back, or be on its way, since: asked under its lock, right before the removal.
 * @param known the instance, if it was read under the same lock
 */
export async function reasonToKeep(
  { context }: OperationServices,
  migration: Migration,
  known?: Instance,
): Promise<string | null> {
  const { conductor, host } = context;
  const { instanceUuid } = migration;
  const instance = known ?? (await conductor.call("instance_get", { uuid: instanceUuid }));
  if (instance?.deleted !== 0) {
    return null;
  }
  if (instance.host === host) {
    return "the instance is here";
  }
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid, statuses: UNFINISHED } });
  const other = moves.find(
    ({ id, sourceCompute, destCompute, migrationType, status }) =>
      id !== migration.id &&
      (sourceCompute === host || destCompute === host) &&
      // One to here has made nothing yet, and is refused while there is a guest.
      !(migrationType === "evacuation" && status === "accepted" && destCompute === host),
  );
  return other ? `this host takes part in ${other.migrationType} ${other.id}, which is ${other.status}` : null;
}
