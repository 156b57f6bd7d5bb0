import type { ReportClient } from "../../placement-client/report-client.js";
import type { Allocations, Claim } from "../../placement-client/types.js";
import type { Selection } from "../../records/index.js";

/**
 * What becomes of what the consumer holds: `replace` drops it, `double` keeps it and adds the providers that are new, `sum`
 * keeps it and adds the amounts, also to providers that it holds already (the Pike way of spec 6.0 on one host).
 */
export type Held = Claim["held"] | "sum";

export interface SelectionClaim extends Pick<Claim, "consumer" | "projectId" | "userId"> {
  readonly held: Held;
}

/**
 * Claims a destination. When no answer came, the claim may stand all the same: the second try finds it and writes it anew.
 * Null: Placement is away, and the claim may still stand.
 * @throws {AllocationUpdateFailed} {ConsumerAllocationRetrievalFailed}
 * @throws {PlacementAPIConnectFailure} only of `sum`, which cannot be tried twice: the claim may stand
 */
export async function claimSelection(
  placement: ReportClient,
  selection: Pick<Selection, "allocationRequest" | "allocationRequestVersion">,
  claim: SelectionClaim,
  requestId: string,
): Promise<boolean | null> {
  const { held, ...consumer } = claim;
  if (held === "sum") {
    const summed = await claimSum(placement, selection.allocationRequest, claim, requestId);
    if (summed !== undefined) {
      return summed;
    }
  }
  const request = { allocations: selection.allocationRequest };
  const claimMode = held === "sum" ? "double" : held;
  const attempt = () =>
    placement.claimResources(
      { ...consumer, held: claimMode, request, version: selection.allocationRequestVersion },
      { requestId },
    );
  return (await attempt()) ?? attempt();
}

/** Undefined: it holds none of these providers, so that doubling is the same. */
async function claimSum(
  placement: ReportClient,
  request: Allocations,
  { consumer, projectId, userId }: SelectionClaim,
  requestId: string,
): Promise<boolean | undefined> {
  const current = await placement.getAllocationsForConsumer(consumer, { requestId });
  if (Object.keys(request).every((uuid) => current.allocations[uuid] === undefined)) {
    return undefined;
  }
  const allocations: Record<string, { readonly resources: Readonly<Record<string, number>> }> = {};
  for (const uuid of new Set([...Object.keys(current.allocations), ...Object.keys(request)])) {
    const total: Record<string, number> = { ...current.allocations[uuid]?.resources };
    for (const [name, amount] of Object.entries(request[uuid]?.resources ?? {})) {
      total[name] = (total[name] ?? 0) + amount;
    }
    allocations[uuid] = { resources: total };
  }
  const write = { read: current, allocations, projectId, userId };
  return placement.putAllocations(consumer, write, { requestId });
}
