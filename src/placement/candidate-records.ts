import type { AllocationCandidates } from "./types.js";

/** What a Placement in the client's own process answers in place of JSON: nothing is written, and nothing parsed. */
export class CandidateRecords implements Omit<AllocationCandidates, "version"> {
  readonly allocationRequests: AllocationCandidates["allocationRequests"];
  readonly providerSummaries: AllocationCandidates["providerSummaries"];

  constructor(
    allocationRequests: AllocationCandidates["allocationRequests"],
    providerSummaries: AllocationCandidates["providerSummaries"],
  ) {
    this.allocationRequests = allocationRequests;
    this.providerSummaries = providerSummaries;
  }
}
