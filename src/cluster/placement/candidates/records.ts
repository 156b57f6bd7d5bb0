import { CandidateRecords } from "../../../placement/candidate-records.js";
import type { AllocationRequest, ProviderSummary, ResourceAmounts } from "../../../placement/types.js";
import { fragmentsOf } from "../handlers/provider-json.js";
import { capacityOf, type Provider } from "../model/records.js";
import type { Candidate } from "./candidate.js";
import type { Resources } from "./group-requests.js";
import { summarizedProviders } from "./render.js";

/** Candidates for who takes records: what their JSON says, without the mappings and traits that no scheduler reads. */
export function candidateRecords(candidates: readonly Candidate[]): CandidateRecords {
  // Amounts are shared by the candidates of a group that take everything of one provider.
  const shared = new Map<Resources, Amounts>();
  const amountsOf = (resources: Resources): Amounts => {
    let amounts = shared.get(resources);
    if (amounts === undefined) {
      const record = Object.fromEntries(resources.map(([{ name }, amount]) => [name, amount]));
      amounts = { record, key: JSON.stringify(record) };
      shared.set(resources, amounts);
    }
    return amounts;
  };
  const allocationRequests = candidates.map(({ parts }) => {
    const [part, another] = parts;
    if (part !== undefined && another === undefined) {
      return wholeOf(part.provider, amountsOf(part.resources));
    }
    return {
      allocations: Object.fromEntries(
        parts.map(({ provider, resources }) => [provider.uuid, { resources: amountsOf(resources).record }]),
      ),
    };
  });
  const providerSummaries = new Map<string, ProviderSummary>();
  for (const provider of summarizedProviders(candidates, true)) {
    providerSummaries.set(provider.uuid, summaryOf(provider));
  }
  return new CandidateRecords(allocationRequests, providerSummaries);
}

interface Amounts {
  readonly record: ResourceAmounts;
  readonly key: string;
}

/** Kept with the provider until that changes, or is asked for other amounts. */
function wholeOf(provider: Provider, { record, key }: Amounts): AllocationRequest {
  const fragments = fragmentsOf(provider);
  if (fragments.request?.amounts !== key) {
    fragments.request = { amounts: key, made: { allocations: { [provider.uuid]: { resources: record } } } };
  }
  return fragments.request.made;
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
