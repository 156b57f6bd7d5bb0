import { type Aggregate, hasRoom, type Inventory, type Provider, type ResourceClass, type Trait } from "../model.js";
import type { State } from "../store/state.js";
import type { RequestGroup } from "./request.js";

/** A request group whose classes, traits and aggregates are resolved to records. */
export interface Group {
  readonly suffix: string;
  readonly resources: readonly (readonly [ResourceClass, number])[];
  readonly required: readonly (readonly Trait[])[];
  readonly forbidden: readonly Trait[];
  readonly memberOf: readonly (readonly Aggregate[])[];
  readonly forbiddenAggregates: readonly Aggregate[];
  /** The root of the tree that must satisfy the group. */
  readonly tree: Provider | null;
}

/**
 * Resolves the names in a group; undefined if no provider can satisfy it.
 * @throws {PlacementError} ResourceClassNotFound, TraitNotFound
 */
export function resolveGroup(state: State, group: RequestGroup): Group | undefined {
  const resources = [...group.resources].map(([name, amount]) => [state.resourceClass(name), amount] as const);
  const memberOf = group.aggregates.required.map((any) => known(state, any));
  if (memberOf.length > 0 && !someMember(memberOf)) {
    return undefined;
  }
  const required = group.traits.required.map((any) => [...any].map((name) => state.trait(name)));
  const forbidden = [...group.traits.forbidden].map((name) => state.trait(name));
  const inTree = group.inTree === null ? null : state.providers.get(group.inTree);
  if (inTree === undefined) {
    return undefined;
  }
  const tree = inTree?.root ?? null;
  for (const [resourceClass, amount] of resources) {
    if (!someRoom(resourceClass, amount, tree)) {
      return undefined;
    }
  }
  const forbiddenAggregates = known(state, group.aggregates.forbidden);
  return { suffix: group.suffix, resources, required, forbidden, memberOf, forbiddenAggregates, tree };
}

function known(state: State, uuids: Iterable<string>): Aggregate[] {
  return [...uuids].flatMap((uuid) => state.aggregates.get(uuid) ?? []);
}

function someMember(memberOf: readonly (readonly Aggregate[])[]): boolean {
  for (const aggregate of memberOf[0] ?? []) {
    for (const provider of aggregate.providers) {
      if (isMember(provider, memberOf)) {
        return true;
      }
    }
  }
  return false;
}

function someRoom(resourceClass: ResourceClass, amount: number, tree: Provider | null): boolean {
  for (const inventory of resourceClass.inventories) {
    if ((tree === null || inventory.provider.root === tree) && hasRoom(inventory, amount)) {
      return true;
    }
  }
  return false;
}

/** Checks that the provider is in at least one aggregate of each set. */
export function isMember({ aggregates }: Provider, memberOf: readonly (readonly Aggregate[])[]): boolean {
  return hasOneOfEach(aggregates, memberOf);
}

export function isForbidden({ aggregates }: Provider, group: Group): boolean {
  return hasAny(aggregates, group.forbiddenAggregates);
}

// Plain loops, for speed: a search calls these for every provider.
function hasOneOfEach<T>(set: ReadonlySet<T>, required: readonly (readonly T[])[]): boolean {
  for (const any of required) {
    if (!hasAny(set, any)) {
      return false;
    }
  }
  return true;
}

export function hasAny<T>(set: ReadonlySet<T>, items: readonly T[]): boolean {
  for (const item of items) {
    if (set.has(item)) {
      return true;
    }
  }
  return false;
}

export interface Anchors {
  has(root: Provider): boolean;
}

/** Returns at most `limit` providers, below the roots or any, of which each satisfies a group alone. */
export function singleProviders(group: Group, anchors: Anchors | null, limit = Number.POSITIVE_INFINITY): Provider[] {
  const { resources, tree, memberOf, required, forbidden } = group;
  const found: Provider[] = [];
  // A group without resources matches by its required traits and aggregates; one with only forbidden ones matches
  // nothing.
  if (resources.length === 0 && required.length === 0 && memberOf.length === 0) {
    return found;
  }
  for (const each of startingPoint(group)) {
    const provider = "provider" in each ? each.provider : each;
    if (resources.length > 0 && tree !== null && provider.root !== tree) {
      continue;
    }
    if (!hasOneOfEach(provider.traits, required) || hasAny(provider.traits, forbidden)) {
      continue;
    }
    if (!isMember(provider, memberOf) || isForbidden(provider, group)) {
      continue;
    }
    if ((anchors !== null && !anchors.has(provider.root)) || !haveRoom(provider, resources)) {
      continue;
    }
    found.push(provider);
    if (found.length >= limit) {
      break;
    }
  }
  return found;
}

function haveRoom(provider: Provider, resources: Group["resources"]): boolean {
  for (const [resourceClass, amount] of resources) {
    if (!hasRoom(provider.inventories.get(resourceClass), amount)) {
      return false;
    }
  }
  return true;
}

/** Returns the smallest indexed set that contains all matching providers, or their inventories of one class. */
function startingPoint(group: Group): Iterable<Provider | Inventory> {
  let smallest: Iterable<Provider | Inventory> = [];
  let size = Number.POSITIVE_INFINITY;
  for (const [{ inventories }] of group.resources) {
    if (inventories.size >= size) {
      continue;
    }
    smallest = inventories;
    ({ size } = inventories);
  }
  for (const any of [...group.required, ...group.memberOf]) {
    const [only, another] = any;
    const sum = any.reduce((count, { providers }) => count + providers.size, 0);
    if (sum >= size) {
      continue;
    }
    smallest = only !== undefined && another === undefined ? only.providers : unionOf(any);
    size = sum;
  }
  return smallest;
}

/** Yields each provider of the sets once. Lazy, since the caller often needs only the first few. */
function* unionOf(sets: readonly (Trait | Aggregate)[]): Generator<Provider> {
  for (const [index, { providers }] of sets.entries()) {
    for (const provider of providers) {
      if (!sets.slice(0, index).some((earlier) => earlier.providers.has(provider))) {
        yield provider;
      }
    }
  }
}
