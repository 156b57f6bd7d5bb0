import type { Aggregate, Inventory, Provider, ResourceClass, Trait } from "../model/records.js";
import type { State } from "../store/state.js";
import type { RequestGroup } from "./request.js";
import { hasRoom } from "./room.js";

/** A request group with everything that it names looked up. */
export interface Group {
  readonly suffix: string;
  readonly resources: readonly (readonly [ResourceClass, number])[];
  readonly required: readonly (readonly Trait[])[];
  readonly forbidden: readonly Trait[];
  readonly memberOf: readonly (readonly Aggregate[])[];
  readonly forbiddenAggregates: readonly Aggregate[];
  /** The root of the tree that must serve the group. */
  readonly tree: Provider | null;
}

/**
 * Undefined when it is clear that nothing can serve the group.
 * @throws {ResourceClassNotFound | TraitNotFound}
 */
export function resolveGroup(state: State, group: RequestGroup): Group | undefined {
  const resources = [...group.resources].map(([name, amount]) => [state.resourceClass(name), amount] as const);
  const memberOf = group.aggregates.required.map((any) => known(state, any));
  if (memberOf.length > 0 && !someMember(memberOf)) return undefined;
  const required = group.traits.required.map((any) => [...any].map((name) => state.trait(name)));
  const forbidden = [...group.traits.forbidden].map((name) => state.trait(name));
  const inTree = group.inTree === null ? null : state.providers.get(group.inTree);
  if (inTree === undefined) return undefined;
  const tree = inTree?.root ?? null;
  for (const [resourceClass, amount] of resources) {
    if (!someRoom(resourceClass, amount, tree)) return undefined;
  }
  const forbiddenAggregates = known(state, group.aggregates.forbidden);
  return { suffix: group.suffix, resources, required, forbidden, memberOf, forbiddenAggregates, tree };
}

function known(state: State, uuids: Iterable<string>): Aggregate[] {
  return [...uuids].flatMap((uuid) => state.aggregates.get(uuid) ?? []);
}

function someMember(memberOf: readonly (readonly Aggregate[])[]): boolean {
  for (const aggregate of memberOf[0] ?? []) {
    for (const provider of aggregate.providers) if (isMember(provider, memberOf)) return true;
  }
  return false;
}

function someRoom(resourceClass: ResourceClass, amount: number, tree: Provider | null): boolean {
  for (const inventory of resourceClass.inventories) {
    if ((tree === null || inventory.provider.root === tree) && hasRoom(inventory, amount)) return true;
  }
  return false;
}

/** Whether the provider is in one aggregate of each set. */
export function isMember(provider: Provider, memberOf: readonly (readonly Aggregate[])[]): boolean {
  return memberOf.every((any) => any.some((aggregate) => provider.aggregates.has(aggregate)));
}

export function isForbidden(provider: Provider, group: Group): boolean {
  return group.forbiddenAggregates.some((aggregate) => provider.aggregates.has(aggregate));
}

function hasTraits(provider: Provider, group: Group): boolean {
  return (
    group.required.every((any) => any.some((trait) => provider.traits.has(trait))) &&
    !group.forbidden.some((trait) => provider.traits.has(trait))
  );
}

/** The providers that serve all of a group by themselves. */
export function* singleProviders(group: Group): Generator<Provider> {
  const { resources, tree, memberOf } = group;
  // A group without resources is served by what it names, and by nothing when it only names what is forbidden.
  if (resources.length === 0 && group.required.length === 0 && memberOf.length === 0) return;
  const anyTraits = group.required.length === 0 && group.forbidden.length === 0;
  const anyAggregates = memberOf.length === 0 && group.forbiddenAggregates.length === 0;
  for (const each of startingPoint(group)) {
    const provider = "provider" in each ? each.provider : each;
    if (!haveRoom(provider, resources)) continue;
    if (resources.length > 0 && tree !== null && provider.root !== tree) continue;
    if (!anyTraits && !hasTraits(provider, group)) continue;
    if (!anyAggregates && (!isMember(provider, memberOf) || isForbidden(provider, group))) continue;
    yield provider;
  }
}

function haveRoom(provider: Provider, resources: Group["resources"]): boolean {
  for (const [resourceClass, amount] of resources) {
    if (!hasRoom(provider.inventories.get(resourceClass), amount)) return false;
  }
  return true;
}

/** The smallest indexed set that all providers sought are in; or their inventories of a class. */
function startingPoint(group: Group): Iterable<Provider | Inventory> {
  const sets: (ReadonlySet<Provider> | ReadonlySet<Inventory>)[] = [];
  for (const any of [...group.required, ...group.memberOf]) if (any.length === 1 && any[0]) sets.push(any[0].providers);
  for (const [resourceClass] of group.resources) sets.push(resourceClass.inventories);
  if (sets.length === 0) {
    const [any = []] = [...group.required, ...group.memberOf];
    return new Set(any.flatMap((each) => [...each.providers]));
  }
  return sets.reduce((smallest, set) => (set.size < smallest.size ? set : smallest));
}
