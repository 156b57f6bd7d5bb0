import type { Provider, Trait } from "../model.js";
import type { PlacementTuning } from "../options.js";
import type { State } from "../store/state.js";
import { type Anchors, hasAny, resolveGroup, singleProviders } from "./group.js";
import {
  type Candidate,
  candidateKey,
  combine,
  type GroupRequest,
  product,
  type Resources,
  roundRobin,
  type Surroundings,
  singleProviderRequests,
  treeRequests,
} from "./group-requests.js";
import type { CandidatesRequest } from "./request.js";

export interface SearchOptions extends Pick<PlacementTuning, "maxAllocationCandidates" | "generationStrategy"> {
  /** Set from microversion 1.29 on. Before that, a candidate uses at most one provider of a tree. */
  readonly nestedAware: boolean;
  /** The max number of candidates; null: all. */
  readonly limit: number | null;
}

/**
 * Returns the candidates for a request. Some are computed lazily, while the caller iterates.
 * @throws {PlacementError} ResourceClassNotFound, TraitNotFound: immediately, or when the iteration starts.
 */
export function searchCandidates(
  state: State,
  request: CandidatesRequest,
  options: SearchOptions,
): Iterable<Candidate> {
  const flat = searchRoots(state, request, options);
  if (flat !== null) {
    const { roots, resources, suffix } = flat;
    return roots.map((provider) => {
      const parts = resources.length === 0 ? [] : [{ provider, resources }];
      return { parts, served: [{ suffix, anchor: provider, parts, providers: [provider] }] };
    });
  }
  const anchors = rootsWithTraits(state, request);
  return anchors === "none" ? [] : search(state, request, options, { anchors, sharing: state.sharing() });
}

/** Root providers of which each satisfies a complete request alone. */
export interface FoundRoots {
  readonly roots: readonly Provider[];
  readonly resources: Resources;
  readonly suffix: string;
}

/**
 * Fast path for the most common case: one group, no nested providers, no sharing providers. Null: the case does not
 * apply.
 * @throws {PlacementError} ResourceClassNotFound, TraitNotFound
 */
export function searchRoots(state: State, request: CandidatesRequest, options: SearchOptions): FoundRoots | null {
  const [only, another] = request.groups;
  if (state.nested > 0 || only === undefined || another !== undefined || state.sharing().size > 0) {
    return null;
  }
  const anchors = rootsWithTraits(state, request);
  const group = anchors === "none" ? undefined : resolveGroup(state, only);
  if (anchors === "none" || group === undefined) {
    return { roots: [], resources: [], suffix: only.suffix };
  }
  const { maxAllocationCandidates: most, limit } = options;
  const bound = Math.min(limit ?? Number.POSITIVE_INFINITY, most < 0 ? Number.POSITIVE_INFINITY : most);
  const { suffix, resources } = group;
  return { roots: singleProviders(group, anchors, bound), resources, suffix };
}

function* search(
  state: State,
  request: CandidatesRequest,
  options: SearchOptions,
  around: Surroundings,
): Generator<Candidate> {
  const trees = around.sharing.size > 0 || state.nested > 0;
  const found: Iterable<GroupRequest>[] = [];
  for (const each of request.groups) {
    const group = resolveGroup(state, each);
    if (group === undefined) {
      return;
    }
    const requests = group.suffix === "" && trees ? treeRequests(group, around) : singleProviderRequests(group, around);
    if (request.groups.length === 1) {
      found.push(requests);
      break;
    }
    // If one group cannot be satisfied, the later groups are not searched.
    const all = group.suffix === "" && around.sharing.size > 0 ? oncePerContent(requests) : [...requests];
    if (all.length === 0) {
      return;
    }
    found.push(all);
  }

  const [only] = found;
  const combined = found.length === 1 && only !== undefined ? alone(only) : combineGroups(found, request, options);
  const yieldedKeys = around.sharing.size > 0 ? new Set<string>() : null;
  let count = 0;
  for (const candidate of combined) {
    if (!options.nestedAware && state.nested > 0 && !oneOfEachTree(candidate)) {
      continue;
    }
    if (yieldedKeys !== null) {
      const key = candidateKey(candidate);
      if (yieldedKeys.has(key)) {
        continue;
      }
      yieldedKeys.add(key);
    }
    yield candidate;
    count += 1;
    if (count === options.maxAllocationCandidates) {
      return;
    }
  }
}

/**
 * Removes requests of the unsuffixed group with equal content, as upstream does: it compares their resources, but not
 * the tree that they are for.
 * A request that only sharing providers satisfy therefore remains for one tree, and is combined only with the other
 * groups' requests of that tree.
 * Upstream's choice of the tree depends on the order of a hash table; here it is the tree with the oldest root.
 */
function oncePerContent(requests: Iterable<GroupRequest>): GroupRequest[] {
  const byContent = new Map<string, GroupRequest>();
  for (const request of requests) {
    const key = candidateKey({ parts: request.parts, served: [request] });
    const known = byContent.get(key);
    if (known === undefined || request.anchor.id < known.anchor.id) {
      byContent.set(key, request);
    }
  }
  return [...byContent.values()];
}

/** Returns null if the request has no condition for the root, and `none` if no root satisfies it. */
function rootsWithTraits(state: State, { root }: CandidatesRequest): Anchors | "none" | null {
  if (root.required.length === 0 && root.forbidden.size === 0) {
    return null;
  }
  const required = root.required.flatMap((any) => [...any]).map((name) => state.trait(name));
  const forbidden = [...root.forbidden].map((name) => state.trait(name));
  const fits = ({ traits }: Provider) => hasAll(traits, required) && !hasAny(traits, forbidden);
  const [first] = required;
  const start: Iterable<Provider> = first === undefined ? state.providers.values() : first.providers;
  // Roots are tested lazily: a search with a limit reaches few of them.
  for (const provider of start) {
    if (provider.parent === null && fits(provider)) {
      return { has: fits };
    }
  }
  return "none";
}

function hasAll(traits: ReadonlySet<Trait>, required: readonly Trait[]): boolean {
  for (const trait of required) {
    if (!traits.has(trait)) {
      return false;
    }
  }
  return true;
}

function* alone(requests: Iterable<GroupRequest>): Generator<Candidate> {
  for (const request of requests) {
    yield { parts: request.parts, served: [request] };
  }
}

/** Yields the combinations of one request of each group that have the same anchor. */
function* combineGroups(
  found: readonly Iterable<GroupRequest>[],
  request: CandidatesRequest,
  options: SearchOptions,
): Generator<Candidate> {
  const byAnchor = new Map<Provider, GroupRequest[][]>();
  found.forEach((requests, index) => {
    for (const each of requests) {
      const lists = byAnchor.get(each.anchor) ?? found.map((): GroupRequest[] => []);
      byAnchor.set(each.anchor, lists);
      lists[index]?.push(each);
    }
  });
  const generators = [...byAnchor.values()].map((lists) => product(lists));
  const combinations = options.generationStrategy === "breadth-first" ? roundRobin(generators) : chain(generators);
  for (const combination of combinations) {
    if (!isolated(combination, request) || !inSameSubtrees(combination, request)) {
      continue;
    }
    const candidate = combine(combination);
    if (candidate !== undefined) {
      yield candidate;
    }
  }
}

function* chain<T>(generators: readonly Generator<T>[]): Generator<T> {
  for (const generator of generators) {
    yield* generator;
  }
}

/** Checks `group_policy=isolate`: each group with a suffix must have a different provider. */
function isolated(combination: readonly GroupRequest[], { isolate }: CandidatesRequest): boolean {
  if (!isolate) {
    return true;
  }
  const granular = combination.filter(({ suffix }) => suffix !== "");
  return new Set(granular.map(({ providers }) => providers[0])).size === granular.length;
}

/** Checks `same_subtree`: of the providers of the listed groups, one must be an ancestor of all the others. */
function inSameSubtrees(combination: readonly GroupRequest[], { sameSubtrees }: CandidatesRequest): boolean {
  return sameSubtrees.every((suffixes) => {
    const providers = new Set(
      combination.filter(({ suffix }) => suffixes.has(suffix)).flatMap((each) => each.providers),
    );
    return [...providers].some((top) => [...providers].every((provider) => isBelow(provider, top)));
  });
}

function isBelow(provider: Provider, top: Provider): boolean {
  for (let each: Provider | null = provider; each !== null; each = each.parent) {
    if (each === top) {
      return true;
    }
  }
  return false;
}

function oneOfEachTree({ parts }: Candidate): boolean {
  return new Set(parts.map(({ provider }) => provider.root)).size === parts.length;
}
