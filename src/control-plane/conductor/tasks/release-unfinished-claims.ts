import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../../records/index.js";
import type { TaskDeps } from "./task-deps.js";

/**
 * Gives back what the instance holds on nodes that no record accounts for: a run that was killed, or whose claim went
 * unanswered, may have claimed there. Else the next claim would add to it.
 * @param failed migrations that go nowhere, or have claimed nothing yet: their destinations account for nothing
 */
export async function releaseUnfinishedClaims(
  deps: TaskDeps,
  instance: Instance,
  requestId: string,
  failed: readonly Migration[],
): Promise<void> {
  const { store, placement, logger } = deps;
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const accounted = accountedHosts(deps, instance, failed);
  for (const { uuid, host } of store.computeNodes.byUuids(Object.keys(allocations))) {
    if (accounted.has(host)) {
      continue;
    }
    logger.info("gives back the claim of a move that was cut off", {
      instance: instance.uuid,
      host,
      request_id: requestId,
    });
    await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, uuid, { retry: true, requestId });
  }
}

/** Its own host, the sources of its evacuations (they keep theirs until they have come back), both ends of any move under way. */
function accountedHosts(
  { store }: TaskDeps,
  { uuid, host }: Instance,
  failed: readonly Migration[],
): ReadonlySet<string | null> {
  const migrations = store.migrations.byFilters({ instanceUuid: uuid });
  const ids = new Set(failed.map(({ id }) => id));
  return new Set([
    host,
    ...migrations.flatMap(({ id, migrationType, status, sourceCompute, destCompute }) => {
      // A source that has come back leaves its own to a claim that was made there meanwhile (spec 3.1).
      const retainsSource = migrationType === "evacuation" && status !== "completed";
      const underWay = !ids.has(id) && !FINAL_MIGRATION_STATUSES.includes(status);
      return [...(underWay || retainsSource || ids.has(id) ? [sourceCompute] : []), ...(underWay ? [destCompute] : [])];
    }),
  ]);
}
