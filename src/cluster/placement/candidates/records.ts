import { CandidateRecords } from "../../../placement/candidate-records.js";
import type { Allocations, ProviderSummary, ResourceAmounts } from "../../../placement/types.js";
import { fragmentsOf } from "../handlers/provider-json.js";
import { capacityOf, type Provider } from "../model/records.js";
import type { Candidate } from "./candidate.js";
import type { Resources } from "./group-requests.js";
import { summarizedProviders } from "./render.js";

/** Candidates for who takes records: what their JSON says, without the mappings and traits that no scheduler reads. */
export function candidateRecords(candidates: readonly Candidate[]): CandidateRecords {
  // Amounts are shared by the candidates of a group that take everything of one provider.
  const amounts = new Map<Resources, ResourceAmounts>();
  const allocationRequests = candidates.map(({ parts }) => {
    const allocations: Record<string, Allocations[string]> = {};
    for (const { provider, resources } of parts) {
      let taken = amounts.get(resources);
      if (taken === undefined) {
        taken = Object.fromEntries(resources.map(([{ name }, amount]) => [name, amount]));
        amounts.set(resources, taken);
      }
      allocations[provider.uuid] = { resources: taken };
    }
    return { allocations };
  });
  const providerSummaries = new Map<string, ProviderSummary>();
  for (const provider of summarizedProviders(candidates, true)) {
    providerSummaries.set(provider.uuid, summaryOf(provider));
  }
  return new CandidateRecords(allocationRequests, providerSummaries);
}

/** Kept with the provider until it changes. */
function summaryOf(provider: Provider): ProviderSummary {
  const fragments = fragmentsOf(provider);
  fragments.summary ??= {
    resources: Object.fromEntries(
      [...provider.inventories.values()].map(({ resourceClass, amounts, used }) => [
        resourceClass.name,
        { capacity: Math.trunc(capacityOf(amounts)), used },
      ]),
    ),
    rootUuid: provider.root.uuid,
  };
  return fragments.summary;
}
