import type { Selection } from "../../conductor/records/index.js";
import type { Claim, ReportClient } from "../../placement/report-client.js";

/**
 * Claims a destination. When no answer came, the claim may stand all the same: the second try finds it and writes it anew.
 * Null: Placement is away, and the claim may still stand.
 * @throws {AllocationUpdateFailed} {ConsumerAllocationRetrievalFailed}
 */
export async function claimSelection(
  placement: ReportClient,
  selection: Pick<Selection, "allocationRequest" | "allocationRequestVersion">,
  claim: Pick<Claim, "consumer" | "projectId" | "userId" | "held">,
  requestId: string,
): Promise<boolean | null> {
  const request = { allocations: selection.allocationRequest };
  const attempt = () =>
    placement.claimResources({ ...claim, request, version: selection.allocationRequestVersion }, { requestId });
  return (await attempt()) ?? attempt();
}
