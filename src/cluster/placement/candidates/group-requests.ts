import type { Provider, ResourceClass } from "../model/records.js";
import { type Group, isForbidden, isMember, singleProviders } from "./group.js";
import { product } from "./product.js";
import { hasRoom } from "./room.js";

/** An amount taken of a provider. */
export interface Part {
  readonly provider: Provider;
  readonly resourceClass: ResourceClass;
  readonly amount: number;
}

/** One way to serve a group. */
export interface GroupRequest {
  readonly suffix: string;
  /** The root of the tree that is served; providers that share with it may help. */
  readonly anchor: Provider;
  readonly parts: readonly Part[];
  readonly providers: readonly Provider[];
}

/** What the search looks at beside the group. */
export interface Surroundings {
  /** The roots that candidates may have; null: any. */
  readonly anchors: ReadonlySet<Provider> | null;
  readonly sharing: ReadonlySet<Provider>;
}

/** The roots of the trees with which a provider shares its inventory: those with an aggregate in common. */
function anchorsOf(provider: Provider): ReadonlySet<Provider> {
  const anchors = new Set<Provider>();
  for (const aggregate of provider.aggregates) for (const member of aggregate.providers) anchors.add(member.root);
  return anchors;
}

/** The ways to serve a group from one provider each. */
export function* singleProviderRequests(group: Group, { anchors, sharing }: Surroundings): Generator<GroupRequest> {
  for (const provider of singleProviders(group)) {
    const roots = new Set([provider.root]);
    if (sharing.has(provider)) for (const anchor of anchorsOf(provider)) roots.add(anchor);
    const parts = group.resources.map(([resourceClass, amount]) => ({ provider, resourceClass, amount }));
    for (const anchor of roots) {
      if (anchors !== null && !anchors.has(anchor)) continue;
      yield { suffix: group.suffix, anchor, parts, providers: [provider] };
    }
  }
}

/** The ways to serve a group from the providers of one tree and those that share with it. */
export function* treeRequests(group: Group, around: Surroundings): Generator<GroupRequest> {
  if (group.resources.length === 0) return;
  const byClass = [...group.resources]
    .sort(([a], [b]) => a.id - b.id)
    .map(([resourceClass, amount]) => ({
      resourceClass,
      amount,
      byAnchor: suppliers(group, resourceClass, amount, around),
    }));
  const [first, ...others] = byClass;
  if (first === undefined) return;
  for (const anchor of first.byAnchor.keys()) {
    if (!others.every(({ byAnchor }) => byAnchor.has(anchor))) continue;
    const choices = byClass.map(({ resourceClass, amount, byAnchor }) =>
      [...(byAnchor.get(anchor) ?? [])].map((provider): Part => ({ provider, resourceClass, amount })),
    );
    for (const parts of product(choices)) {
      const providers = [...new Set(parts.map(({ provider }) => provider))];
      if (traitsFit(providers, group)) yield { suffix: group.suffix, anchor, parts, providers };
    }
  }
}

/** Who can give an amount of a class, by the root of the tree that gets it. */
function suppliers(
  group: Group,
  resourceClass: ResourceClass,
  amount: number,
  { anchors, sharing }: Surroundings,
): ReadonlyMap<Provider, ReadonlySet<Provider>> {
  const byAnchor = new Map<Provider, Set<Provider>>();
  const offer = (provider: Provider, anchor: Provider, member: boolean, forbidden: boolean) => {
    if (anchors !== null && !anchors.has(anchor)) return;
    // A root's aggregates hold for its whole tree.
    if (group.memberOf.length > 0 && !member && !isMember(anchor, group.memberOf)) return;
    if (forbidden || isForbidden(anchor, group)) return;
    const known = byAnchor.get(anchor);
    if (known === undefined) byAnchor.set(anchor, new Set([provider]));
    else known.add(provider);
  };
  for (const inventory of resourceClass.inventories) {
    const { provider } = inventory;
    if ((group.tree !== null && provider.root !== group.tree) || !hasRoom(inventory, amount)) continue;
    const member = group.memberOf.length > 0 && isMember(provider, group.memberOf);
    const forbidden = isForbidden(provider, group);
    offer(provider, provider.root, member, forbidden);
    const shares = group.tree === null && sharing.has(provider) && (group.memberOf.length === 0 || member);
    if (shares) for (const anchor of anchorsOf(provider)) offer(provider, anchor, member, forbidden);
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
