import { fragment } from "../handlers/provider-json.js";
import { capacityOf, type Provider } from "../model/records.js";
import { subtree } from "../store/state.js";
import type { Candidate } from "./candidate.js";
import type { GroupRequest, Part, Resources } from "./group-requests.js";

/** Candidates as JSON, in the form of a microversion, and in pieces. */
export function candidatesJson(
  candidates: readonly Candidate[],
  minor: number,
  nested: boolean,
  requested: ReadonlySet<string>,
): readonly string[] {
  const renderer = new RequestRenderer(minor);
  const providers = summarizedProviders(candidates, minor >= 29 || !nested);
  // They bring their comma along: of long lists, half as many pieces.
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
  /** Amounts are shared by the candidates of a group that take everything of one provider. */
  readonly #resources = new Map<Resources, string>();
  /** Names such a candidate's form in its provider's fragments. */
  readonly #keys = new Map<Resources, string>();

  constructor(minor: number) {
    this.#minor = minor;
  }

  /** With a comma before it. */
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

/** All providers of the trees that candidates take from; before 1.29, in a world with trees, just those taken from. */
export function summarizedProviders(candidates: readonly Candidate[], includeFullTrees: boolean): readonly Provider[] {
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

/** A provider's member of `provider_summaries`, with a comma before it. */
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
