import type { Instance } from "../../../conductor/records/index.js";
import type { TaskParts } from "./task-parts.js";

/**
 * A run that was killed may have claimed a destination and told nobody. What the instance holds on a node that is neither
 * its own nor one it was evacuated from is that claim: it is given back before another destination is chosen.
 */
export async function releaseUnfinishedClaims(
  { store, placement, logger }: TaskParts,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const evacuations = store.migrations.byFilters({ instanceUuid: instance.uuid, migrationTypes: ["evacuation"] });
  const sources = new Set(evacuations.map(({ sourceCompute }) => sourceCompute));
  for (const { uuid, host } of store.computeNodes.byUuids(Object.keys(allocations))) {
    if (host === instance.host || sources.has(host)) continue;
    logger.info("gives back the claim of an evacuation that was cut off", {
      instance: instance.uuid,
      host,
      request_id: requestId,
    });
    await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, uuid, { retry: true, requestId });
  }
}
