import { CandidateRecords, RootRecords } from "../../../placement-client/allocation-candidates.js";
import type { GroupMappings, ProviderSummary, ResourceAmounts, RootOffer } from "../../../placement-client/types.js";
import { fragment, fragmentsOf } from "../handlers/provider-json.js";
import { capacityOf, type Provider } from "../model.js";
import { subtree } from "../store/state.js";
import type { Candidate, GroupRequest, Part, Resources } from "./group-requests.js";

/** Renders candidates as JSON in the form of a microversion, as a list of pieces. */
export function candidatesJson(
  candidates: readonly Candidate[],
  minor: number,
  nested: boolean,
  requested: ReadonlySet<string>,
): readonly string[] {
  const renderer = new RequestRenderer(minor);
  const providers = summarizedProviders(candidates, minor >= 29 || !nested);
  // Each piece includes its leading comma, which halves the number of pieces of a long list.
  const pieces = ['{"allocation_requests":['];
  for (const candidate of candidates) {
    const piece = renderer.render(candidate);
    pieces.push(pieces.length === 1 ? piece.slice(1) : piece);
  }
  pieces.push('],"provider_summaries":{');
  const before = pieces.length;
  for (const provider of providers) {
    const piece = summary(provider, minor, requested);
    pieces.push(pieces.length === before ? piece.slice(1) : piece);
  }
  pieces.push("}}");
  return pieces;
}

class RequestRenderer {
  readonly #minor: number;
  /** The candidates of a group that are satisfied by one provider share their amounts. */
  readonly #resources = new Map<Resources, string>();
  /** The keys under which a provider's fragments cache such a candidate. */
  readonly #keys = new Map<Resources, string>();

  constructor(minor: number) {
    this.#minor = minor;
  }

  /** Returns the JSON of a candidate, with a leading comma. */
  render({ parts, served }: Candidate): string {
    const [part, anotherPart] = parts;
    const [group, anotherGroup] = served;
    if (part === undefined || group === undefined || anotherPart !== undefined || anotherGroup !== undefined) {
      return `,${this.#json(parts, served)}`;
    }
    let key = this.#keys.get(part.resources);
    if (key === undefined) {
      key = `candidate ${this.#minor < 12 ? 10 : this.#minor < 34 ? 12 : 34} ${group.suffix} ${this.#amounts(part.resources)}`;
      this.#keys.set(part.resources, key);
    }
    return fragment(part.provider, key, () => `,${this.#json(parts, served)}`);
  }

  #json(parts: readonly Part[], served: readonly GroupRequest[]): string {
    if (this.#minor < 12) {
      const list = parts.map(
        ({ provider, resources }) =>
          `{"resource_provider":{"uuid":"${provider.uuid}"},"resources":${this.#amounts(resources)}}`,
      );
      return `{"allocations":[${list.join(",")}]}`;
    }
    const members = parts.map(
      ({ provider, resources }) => `"${provider.uuid}":{"resources":${this.#amounts(resources)}}`,
    );
    if (this.#minor < 34) {
      return `{"allocations":{${members.join(",")}}}`;
    }
    const mappings = served.map(
      ({ suffix, providers }) => `"${suffix}":[${providers.map(({ uuid }) => `"${uuid}"`).join(",")}]`,
    );
    return `{"allocations":{${members.join(",")}},"mappings":{${mappings.join(",")}}}`;
  }

  #amounts(resources: Resources): string {
    let json = this.#resources.get(resources);
    if (json === undefined) {
      json = `{${resources.map(([{ name }, amount]) => `"${name}":${amount}`).join(",")}}`;
      this.#resources.set(resources, json);
    }
    return json;
  }
}

/**
 * Returns all providers of the trees that are used; before 1.29, if there are nested providers, only the providers
 * used.
 */
function summarizedProviders(candidates: readonly Candidate[], includeFullTrees: boolean): readonly Provider[] {
  const taken = new Set<Provider>();
  for (const { parts } of candidates) {
    for (const { provider } of parts) {
      taken.add(includeFullTrees ? provider.root : provider);
    }
  }
  if (!includeFullTrees) {
    return [...taken];
  }
  const found: Provider[] = [];
  for (const root of taken) {
    if (root.children.size === 0) {
      found.push(root);
    } else {
      found.push(...subtree(root));
    }
  }
  return found;
}

/** Returns a provider's member of `provider_summaries`, with a leading comma. */
function summary(provider: Provider, minor: number, requested: ReadonlySet<string>): string {
  const make = (isIncluded: (className: string) => boolean) =>
    `,"${provider.uuid}":${summaryJson(provider, minor, isIncluded)}`;
  if (minor < 27) {
    return make((name) => requested.has(name));
  }
  return fragment(provider, minor < 29 ? "summary 1.27" : "summary", () => make(() => true));
}

function summaryJson(provider: Provider, minor: number, isIncluded: (className: string) => boolean): string {
  const resources: string[] = [];
  for (const { resourceClass, amounts, used } of provider.inventories.values()) {
    if (!isIncluded(resourceClass.name)) {
      continue;
    }
    resources.push(`"${resourceClass.name}":{"capacity":${Math.trunc(capacityOf(amounts))},"used":${used}}`);
  }
  let json = `{"resources":{${resources.join(",")}}`;
  if (minor >= 17) {
    json += `,"traits":${JSON.stringify([...provider.traits].map(({ name }) => name))}`;
  }
  if (minor >= 29) {
    const parent = provider.parent === null ? "null" : `"${provider.parent.uuid}"`;
    json += `,"parent_provider_uuid":${parent},"root_provider_uuid":"${provider.root.uuid}"`;
  }
  return `${json}}`;
}

/**
 * Returns candidates as records: the data of their JSON, without the traits, and the mappings of requests without
 * suffixes, which no scheduler reads.
 */
export function candidateRecords(candidates: readonly Candidate[], version: string): CandidateRecords {
  // The candidates of a group that are satisfied by one provider share their amounts.
  const shared = new Map<Resources, Amounts>();
  const amountsIn = (resources: Resources): Amounts => {
    const amounts = shared.get(resources) ?? amountsOf(resources);
    shared.set(resources, amounts);
    return amounts;
  };
  const allocationRequests = candidates.map(({ parts, served }) => {
    const [part, another] = parts;
    const hasSuffix = served.some(({ suffix }) => suffix !== "");
    if (part !== undefined && another === undefined && !hasSuffix) {
      return offerOf(part.provider, amountsIn(part.resources)).request;
    }
    return {
      allocations: Object.fromEntries(
        parts.map(({ provider, resources }) => [provider.uuid, { resources: amountsIn(resources).record }]),
      ),
      ...(hasSuffix ? { mappings: mappingsOf(served) } : {}),
    };
  });
  const providerSummaries = new Map<string, ProviderSummary>();
  for (const provider of summarizedProviders(candidates, true)) {
    providerSummaries.set(provider.uuid, summaryOf(provider));
  }
  return new CandidateRecords({ allocationRequests, providerSummaries, version });
}

function mappingsOf(served: readonly GroupRequest[]): GroupMappings {
  return Object.fromEntries(served.map(({ suffix, providers }) => [suffix, providers.map(({ uuid }) => uuid)]));
}

/** Returns the records of roots of which each satisfies the request alone. */
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

/** Returns the provider's cached offer; rebuilds it if the provider has changed or the amounts differ. */
function offerOf(provider: Provider, { record, key }: Amounts): RootOffer {
  const fragments = fragmentsOf(provider);
  if (fragments.offer?.amounts !== key) {
    const request = { allocations: { [provider.uuid]: { resources: record } } };
    fragments.offer = { amounts: key, made: { uuid: provider.uuid, request, summary: summaryOf(provider) } };
  }
  return fragments.offer.made;
}

/** Returns the provider's summary, cached until the provider changes. */
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
