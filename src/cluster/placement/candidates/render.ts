import { fragment } from "../handlers/provider-json.js";
import { capacityOf, type Provider, type ResourceClass } from "../model/records.js";
import { subtree } from "../store/state.js";
import type { Candidate } from "./candidate.js";

/** Candidates as JSON, in the form of a microversion. */
export function candidatesJson(
  candidates: readonly Candidate[],
  minor: number,
  nested: boolean,
  requested: ReadonlySet<string>,
): string {
  const summarized = summarizedProviders(candidates, minor >= 29 || !nested);
  const summaries: string[] = [];
  for (const provider of summarized) summaries.push(`"${provider.uuid}":${summary(provider, minor, requested)}`);
  const requests = candidates.map((candidate) => requestJson(candidate, minor));
  return `{"allocation_requests":[${requests.join(",")}],"provider_summaries":{${summaries.join(",")}}}`;
}

function requestJson({ allocations, mappings }: Candidate, minor: number): string {
  if (minor < 12) {
    const list: string[] = [];
    for (const [{ uuid }, resources] of allocations) {
      list.push(`{"resource_provider":{"uuid":"${uuid}"},"resources":${resourcesJson(resources)}}`);
    }
    return `{"allocations":[${list.join(",")}]}`;
  }
  let members = "";
  for (const [{ uuid }, resources] of allocations) {
    members += `${members === "" ? "" : ","}"${uuid}":{"resources":${resourcesJson(resources)}}`;
  }
  if (minor < 34) return `{"allocations":{${members}}}`;
  let served = "";
  for (const [suffix, providers] of mappings) {
    const uuids =
      providers.length === 1 ? `"${providers[0]?.uuid}"` : providers.map(({ uuid }) => `"${uuid}"`).join(",");
    served += `${served === "" ? "" : ","}"${suffix}":[${uuids}]`;
  }
  return `{"allocations":{${members}},"mappings":{${served}}}`;
}

function resourcesJson(resources: ReadonlyMap<ResourceClass, number>): string {
  let members = "";
  for (const [{ name }, amount] of resources) members += `${members === "" ? "" : ","}"${name}":${amount}`;
  return `{${members}}`;
}

/** All providers of the trees that candidates take from; before 1.29, in a world with trees, just those taken from. */
function summarizedProviders(candidates: readonly Candidate[], wholeTrees: boolean): ReadonlySet<Provider> {
  const providers = new Set<Provider>();
  const roots = new Set<Provider>();
  for (const { allocations } of candidates) {
    for (const provider of allocations.keys()) {
      if (!wholeTrees) {
        providers.add(provider);
      } else if (!roots.has(provider.root)) {
        roots.add(provider.root);
        for (const member of subtree(provider.root)) providers.add(member);
      }
    }
  }
  return providers;
}

function summary(provider: Provider, minor: number, requested: ReadonlySet<string>): string {
  if (minor < 27) return summaryJson(provider, minor, (name) => requested.has(name));
  return fragment(provider, minor < 29 ? "summary 1.27" : "summary", () => summaryJson(provider, minor, () => true));
}

function summaryJson(provider: Provider, minor: number, shown: (className: string) => boolean): string {
  const resources: string[] = [];
  for (const { resourceClass, amounts, used } of provider.inventories.values()) {
    if (!shown(resourceClass.name)) continue;
    resources.push(`"${resourceClass.name}":{"capacity":${Math.trunc(capacityOf(amounts))},"used":${used}}`);
  }
  let json = `{"resources":{${resources.join(",")}}`;
  if (minor >= 17) json += `,"traits":${JSON.stringify([...provider.traits].map(({ name }) => name))}`;
  if (minor >= 29) {
    const parent = provider.parent === null ? "null" : `"${provider.parent.uuid}"`;
    json += `,"parent_provider_uuid":${parent},"root_provider_uuid":"${provider.root.uuid}"`;
  }
  return `${json}}`;
}
