import { capacityOf, hasRoom, type Provider, type ResourceClass } from "../model.js";
import { type Anchors, type Group, isForbidden, isMember, singleProviders } from "./group.js";

/** The resources that a request takes from one provider. */
export interface Part {
  readonly provider: Provider;
  readonly resources: Resources;
}

/** Pairs of class and amount; each class occurs once. */
export type Resources = readonly (readonly [ResourceClass, number])[];

/** A set of providers that satisfies one request group. */
export interface GroupRequest {
  readonly suffix: string;
  /** The root of the tree that the request uses. Sharing providers of other trees may supply resources to it. */
  readonly anchor: Provider;
  /** One part per provider. */
  readonly parts: readonly Part[];
  /** Also set for a group without resources, which has no parts. */
  readonly providers: readonly Provider[];
}

/** The part of the search's context that does not depend on the group. */
export interface Surroundings {
  /** The roots that candidates may have; null: any. */
  readonly anchors: Anchors | null;
  readonly sharing: ReadonlySet<Provider>;
}

/** Returns the roots of the trees that may use a provider's shared inventory: those with an aggregate in common. */
function anchorsOf(provider: Provider): ReadonlySet<Provider> {
  const anchors = new Set<Provider>();
  for (const aggregate of provider.aggregates) {
    for (const member of aggregate.providers) {
      anchors.add(member.root);
    }
  }
  return anchors;
}

/** Yields the requests that satisfy a group from a single provider each. */
export function* singleProviderRequests(group: Group, { anchors, sharing }: Surroundings): Generator<GroupRequest> {
  const { suffix, resources } = group;
  for (const provider of singleProviders(group, null)) {
    const parts = resources.length === 0 ? [] : [{ provider, resources }];
    const providers = [provider];
    const { root } = provider;
    if (anchors === null || anchors.has(root)) {
      yield { suffix, anchor: root, parts, providers };
    }
    if (!sharing.has(provider)) {
      continue;
    }
    for (const anchor of anchorsOf(provider)) {
      if (anchor === root || (anchors !== null && !anchors.has(anchor))) {
        continue;
      }
      yield { suffix, anchor, parts, providers };
    }
  }
}

/** Yields the requests that satisfy a group from the providers of one tree, and from sharing providers. */
export function* treeRequests(group: Group, around: Surroundings): Generator<GroupRequest> {
  if (group.resources.length === 0) {
    return;
  }
  const resources = [...group.resources].sort(([a], [b]) => a.id - b.id);
  const byClass = resources.map(([resourceClass, amount]) => ({
    byAnchor: suppliers(group, resourceClass, amount, around),
  }));
  const [first, ...others] = byClass;
  if (first === undefined) {
    return;
  }
  for (const anchor of first.byAnchor.keys()) {
    if (!others.every(({ byAnchor }) => byAnchor.has(anchor))) {
      continue;
    }
    const choices = byClass.map(({ byAnchor }) => [...(byAnchor.get(anchor) ?? [])]);
    for (const chosen of product(choices)) {
      const providers = [...new Set(chosen)];
      if (!traitsFit(providers, group)) {
        continue;
      }
      const parts =
        providers.length === 1
          ? providers.map((provider) => ({ provider, resources }))
          : providers.map((provider) => ({ provider, resources: resources.filter((_, i) => chosen[i] === provider) }));
      yield { suffix: group.suffix, anchor, parts, providers };
    }
  }
}

/** Returns the providers that can supply an amount of a class, by the root of the tree that uses it. */
function suppliers(
  group: Group,
  resourceClass: ResourceClass,
  amount: number,
  { anchors, sharing }: Surroundings,
): ReadonlyMap<Provider, ReadonlySet<Provider>> {
  const byAnchor = new Map<Provider, Set<Provider>>();
  const offer = (provider: Provider, anchor: Provider, member: boolean, forbidden: boolean) => {
    if (anchors !== null && !anchors.has(anchor)) {
      return;
    }
    // A root's aggregates apply to its complete tree.
    if (group.memberOf.length > 0 && !member && !isMember(anchor, group.memberOf)) {
      return;
    }
    if (forbidden || isForbidden(anchor, group)) {
      return;
    }
    const known = byAnchor.get(anchor);
    if (known === undefined) {
      byAnchor.set(anchor, new Set([provider]));
    } else {
      known.add(provider);
    }
  };
  for (const inventory of resourceClass.inventories) {
    const { provider } = inventory;
    if ((group.tree !== null && provider.root !== group.tree) || !hasRoom(inventory, amount)) {
      continue;
    }
    const member = group.memberOf.length > 0 && isMember(provider, group.memberOf);
    const forbidden = isForbidden(provider, group);
    offer(provider, provider.root, member, forbidden);
    const shares = group.tree === null && sharing.has(provider) && (group.memberOf.length === 0 || member);
    if (shares) {
      for (const anchor of anchorsOf(provider)) {
        offer(provider, anchor, member, forbidden);
      }
    }
  }
  return byAnchor;
}

/**
 * Checks traits across all providers of a request: the required ones may be spread over them, forbidden ones must not
 * occur.
 */
function traitsFit(providers: readonly Provider[], { required, forbidden }: Group): boolean {
  return (
    !forbidden.some((trait) => providers.some((provider) => provider.traits.has(trait))) &&
    required.every((any) => any.some((trait) => providers.some((provider) => provider.traits.has(trait))))
  );
}

/** A set of providers that satisfies all request groups. */
export interface Candidate {
  /** One part per provider. */
  readonly parts: readonly Part[];
  /** The request that was chosen for each group. */
  readonly served: readonly GroupRequest[];
}

/** Adds up the resources of all groups; undefined if the sum exceeds the capacity of an inventory. */
export function combine(requests: readonly GroupRequest[]): Candidate | undefined {
  const sums = new Map<Provider, Map<ResourceClass, number>>();
  for (const { parts } of requests) {
    for (const { provider, resources } of parts) {
      const taken = sums.get(provider) ?? new Map<ResourceClass, number>();
      sums.set(provider, taken);
      for (const [resourceClass, amount] of resources) {
        const total = (taken.get(resourceClass) ?? 0) + amount;
        if (total !== amount && !fits(provider, resourceClass, total)) {
          return undefined;
        }
        taken.set(resourceClass, total);
      }
    }
  }
  const parts = [...sums].map(([provider, taken]) => ({ provider, resources: [...taken] }));
  return { parts, served: requests };
}

function fits(provider: Provider, resourceClass: ResourceClass, amount: number): boolean {
  const inventory = provider.inventories.get(resourceClass);
  if (inventory === undefined) {
    return false;
  }
  return inventory.used + amount <= capacityOf(inventory.amounts) && amount <= inventory.amounts.max_unit;
}

/** Returns a key that is equal for candidates that a client cannot distinguish. */
export function candidateKey({ parts, served }: Candidate): string {
  const taken = parts.flatMap(({ provider, resources }) =>
    resources.map(([resourceClass, amount]) => `${provider.id}/${resourceClass.id}/${amount}`),
  );
  const groups = served.map(({ suffix, providers }) => `${suffix}=${ids(providers)}`);
  return `${taken.sort().join(",")};${groups.sort().join(",")}`;
}

function ids(providers: readonly Provider[]): string {
  return providers
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join("+");
}

/** Yields all combinations of one item of each list; the last list varies fastest. */
export function* product<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  if (lists.some((list) => list.length === 0)) {
    return;
  }
  const at = lists.map(() => 0);
  for (;;) {
    yield lists.map((list, i) => list[at[i] ?? 0] as T);
    let i = lists.length - 1;
    for (; i >= 0; i -= 1) {
      const next = (at[i] ?? 0) + 1;
      at[i] = next;
      if (next < (lists[i]?.length ?? 0)) {
        break;
      }
      at[i] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}

/** Yields one item of each generator in rotation, until all of them have ended. */
export function* roundRobin<T>(generators: readonly Generator<T>[]): Generator<T> {
  let open = [...generators];
  while (open.length > 0) {
    const still: Generator<T>[] = [];
    for (const generator of open) {
      const next = generator.next();
      if (next.done === true) {
        continue;
      }
      still.push(generator);
      yield next.value;
    }
    open = still;
  }
}
