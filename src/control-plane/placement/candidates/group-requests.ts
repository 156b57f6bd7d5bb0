import { capacityOf, hasRoom, type Provider, type ResourceClass } from "../model.js";
import { type Anchors, type Group, isForbidden, isMember, singleProviders } from "./group.js";

/** What is taken of a provider. */
export interface Part {
  readonly provider: Provider;
  readonly resources: Resources;
}

/** Amounts by class, each class once. */
export type Resources = readonly (readonly [ResourceClass, number])[];

/** One way to serve a group. */
export interface GroupRequest {
  readonly suffix: string;
  /** The root of the tree that is served; providers that share with it may help. */
  readonly anchor: Provider;
  /** One of each provider. */
  readonly parts: readonly Part[];
  /** A group without resources has no parts, but a provider. */
  readonly providers: readonly Provider[];
}

/** What the search looks at beside the group. */
export interface Surroundings {
  /** The roots that candidates may have; null: any. */
  readonly anchors: Anchors | null;
  readonly sharing: ReadonlySet<Provider>;
}

/** The roots of the trees with which a provider shares its inventory, since they have an aggregate in common. */
function anchorsOf(provider: Provider): ReadonlySet<Provider> {
  const anchors = new Set<Provider>();
  for (const aggregate of provider.aggregates) {
    for (const member of aggregate.providers) {
      anchors.add(member.root);
    }
  }
  return anchors;
}

/** The ways to serve a group from one provider each. */
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

/** The ways to serve a group from the providers of one tree and the providers that share with it. */
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

/** The providers that can give an amount of a class, by the root of the tree that gets it. */
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
    // A root's aggregates hold for its whole tree.
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

/** The providers must have the required traits together; none may have a forbidden one. */
function traitsFit(providers: readonly Provider[], { required, forbidden }: Group): boolean {
  return (
    !forbidden.some((trait) => providers.some((provider) => provider.traits.has(trait))) &&
    required.every((any) => any.some((trait) => providers.some((provider) => provider.traits.has(trait))))
  );
}

/** One way to serve all groups. */
export interface Candidate {
  /** One of each provider. */
  readonly parts: readonly Part[];
  /** The providers that serve each group. */
  readonly served: readonly GroupRequest[];
}

/** Adds up what the groups take; undefined when that is more than an inventory gives. */
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

/** Equal for candidates that a client cannot tell apart. */
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

/** All ways to take one item of each list, the last list varying fastest. */
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

/** One item of each generator in turn, until all have ended. */
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
