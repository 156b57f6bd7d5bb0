import type { AllocationCandidates, AllocationRequest, ProviderSummary, RootOffer } from "./types.js";

/** What a Placement in the client's own process answers in place of JSON: nothing is written, and nothing parsed. */
export class CandidateRecords implements AllocationCandidates {
  readonly allocationRequests: readonly AllocationRequest[];
  readonly providerSummaries: ReadonlyMap<string, ProviderSummary>;
  readonly version: string;

  constructor({ allocationRequests, providerSummaries, version }: AllocationCandidates) {
    this.allocationRequests = allocationRequests;
    this.providerSummaries = providerSummaries;
    this.version = version;
  }
}

/** The same where each candidate is a root that serves all by itself. A scheduler that reads `roots` needs neither of the lists. */
export class RootRecords implements AllocationCandidates {
  readonly roots: readonly RootOffer[];
  readonly version: string;

  constructor(roots: readonly RootOffer[], version: string) {
    this.roots = roots;
    this.version = version;
  }

  get allocationRequests(): readonly AllocationRequest[] {
    return this.roots.map(({ request }) => request);
  }

  get providerSummaries(): ReadonlyMap<string, ProviderSummary> {
    return new Map(this.roots.map(({ uuid, summary }) => [uuid, summary]));
  }
}
