import { PlacementError } from "../../placement-client/errors.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Aggregate } from "./aggregates.js";
import type { Store } from "./store.js";

export interface AggregateHostParts {
  readonly store: Pick<Store, "aggregates" | "computeNodes">;
  readonly placement: Pick<ReportClient, "aggregateAddHost" | "aggregateRemoveHost">;
  readonly logger: Logger;
}

/**
 * Adds the host to the aggregate, then to its mirror in Placement. A failure of the mirror is only logged;
 * `sync_aggregates` repairs it (spec 5.9).
 */
export async function addAggregateHost(
  { store, placement, logger }: AggregateHostParts,
  { id, uuid }: Aggregate,
  host: string,
  requestId: string,
): Promise<Aggregate> {
  const changed = store.aggregates.addHost(id, host);
  try {
    await placement.aggregateAddHost(uuid, providerName(store, host), { requestId });
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    logger.warn(
      "the host was added to the aggregate, but its resource provider not to Placement's; run `manage placement sync_aggregates`",
      { err: error, host, aggregate: uuid, request_id: requestId },
    );
  }
  return changed;
}

/**
 * Removes the host from the aggregate, in Placement first: if that fails, the host remains, and the call can be
 * retried.
 * @throws {PlacementError}
 */
export async function removeAggregateHost(
  { store, placement }: AggregateHostParts,
  { id, uuid }: Aggregate,
  host: string,
  requestId: string,
): Promise<Aggregate> {
  await placement.aggregateRemoveHost(uuid, providerName(store, host), { requestId });
  return store.aggregates.removeHost(id, host);
}

/**
 * Removes the host from all aggregates (spec 7.1 step 5).
 * @throws {PlacementError}
 */
export async function leaveAggregates(parts: AggregateHostParts, host: string, requestId: string): Promise<void> {
  for (const aggregate of parts.store.aggregates.byHost(host)) {
    await removeAggregateHost(parts, aggregate, host, requestId);
  }
}

/** Returns the provider's name, which is the name of the host's first node. */
function providerName({ computeNodes }: AggregateHostParts["store"], host: string): string {
  return computeNodes.byHost(host)[0]?.hypervisorHostname ?? host;
}
