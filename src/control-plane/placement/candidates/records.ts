import { CandidateRecords, RootRecords } from "../../../placement-client/candidate-records.js";
import type { ProviderSummary, ResourceAmounts, RootOffer } from "../../../placement-client/types.js";
import { fragmentsOf } from "../handlers/provider-json.js";
import { capacityOf, type Provider } from "../model/records.js";
import type { Candidate } from "./candidate.js";
import type { Resources } from "./group-requests.js";
import { summarizedProviders } from "./render.js";

/** Candidates for who takes records: what their JSON says, without the mappings and traits that no scheduler reads. */
export function candidateRecords(candidates: readonly Candidate[], version: string): CandidateRecords {
  // Amounts are shared by the candidates of a group that take everything of one provider.
  const shared = new Map<Resources, Amounts>();
  const amountsIn = (resources: Resources): Amounts => {
    const amounts = shared.get(resources) ?? amountsOf(resources);
    shared.set(resources, amounts);
    return amounts;
  };
  const allocationRequests = candidates.map(({ parts }) => {
    const [part, another] = parts;
    if (part !== undefined && another === undefined) {
      return offerOf(part.provider, amountsIn(part.resources)).request;
    }
    return {
      allocations: Object.fromEntries(
        parts.map(({ provider, resources }) => [provider.uuid, { resources: amountsIn(resources).record }]),
      ),
    };
  });
  const providerSummaries = new Map<string, ProviderSummary>();
  for (const provider of summarizedProviders(candidates, true)) {
    providerSummaries.set(provider.uuid, summaryOf(provider));
  }
  return new CandidateRecords({ allocationRequests, providerSummaries, version });
}

/** The same of roots that each serve all by themselves. */
export function rootRecords(roots: readonly Provider[], resources: Resources, version: string): RootRecords {
  const amounts = amountsOf(resources);
  return new RootRecords(
    roots.map((root) => offerOf(root, amounts)),
    version,
  );
}

interface Amounts {
  readonly record: ResourceAmounts;
  readonly key: string;
}

function amountsOf(resources: Resources): Amounts {
  const record = Object.fromEntries(resources.map(([{ name }, amount]) => [name, amount]));
  return { record, key: JSON.stringify(record) };
}

/** Kept with the provider until that changes, or is asked for other amounts. */
function offerOf(provider: Provider, { record, key }: Amounts): RootOffer {
  const fragments = fragmentsOf(provider);
  if (fragments.offer?.amounts !== key) {
    const request = { allocations: { [provider.uuid]: { resources: record } } };
    fragments.offer = { amounts: key, made: { uuid: provider.uuid, request, summary: summaryOf(provider) } };
  }
  return fragments.offer.made;
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
