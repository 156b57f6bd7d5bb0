import { type Aggregate, PlacementError, type Provider, type ResourceClass, type Trait } from "../model.js";
import { incrementGeneration } from "./provider-changes.js";
import type { Changing } from "./state.js";

/** The first id of custom classes. */
const FIRST_CUSTOM_CLASS = 10_000;

const CUSTOM = "CUSTOM_";

/** @throws {PlacementError} Duplicate */
export function createClass({ state, unit }: Changing, name: string): ResourceClass {
  if (state.classes.has(name)) {
    throw new PlacementError("Duplicate", name);
  }
  const id = state.nextId("classes", FIRST_CUSTOM_CLASS);
  const created: ResourceClass = { id, name, createdAt: unit.now, updatedAt: null, inventories: new Set() };
  unit.apply(
    () => state.classes.set(name, created),
    () => state.classes.delete(name),
  );
  const sql = "INSERT INTO placement_resource_classes (id, name, created_at) VALUES (?, ?, ?)";
  unit.write(sql, id, name, unit.now);
  return created;
}

/** @throws {PlacementError} Duplicate, CannotChangeStandard */
export function renameClass({ state, unit }: Changing, resourceClass: ResourceClass, name: string): void {
  if (resourceClass.id < FIRST_CUSTOM_CLASS) {
    throw new PlacementError("CannotChangeStandard", resourceClass.name);
  }
  const { name: before, updatedAt } = resourceClass;
  if (name === before) {
    return;
  }
  if (state.classes.has(name)) {
    throw new PlacementError("Duplicate", name);
  }
  const set = (from: string, to: string, time: number | null) => {
    state.classes.delete(from);
    state.classes.set(to, resourceClass);
    resourceClass.name = to;
    resourceClass.updatedAt = time;
    for (const { provider } of resourceClass.inventories) {
      provider.fragments = null;
    }
  };
  unit.apply(
    () => set(before, name, unit.now),
    () => set(name, before, updatedAt),
  );
  const sql = "UPDATE placement_resource_classes SET name = ?, updated_at = ? WHERE id = ?";
  unit.write(sql, name, unit.now, resourceClass.id);
}

/** @throws {PlacementError} CannotChangeStandard, InUse */
export function deleteClass({ state, unit }: Changing, resourceClass: ResourceClass): void {
  const { id, name, inventories } = resourceClass;
  if (id < FIRST_CUSTOM_CLASS) {
    throw new PlacementError("CannotChangeStandard", `Cannot delete standard resource class ${name}.`);
  }
  if (inventories.size > 0) {
    throw new PlacementError("InUse", `Cannot delete resource class ${name}. Class is in use in inventory.`);
  }
  unit.apply(
    () => state.classes.delete(name),
    () => state.classes.set(name, resourceClass),
  );
  unit.write("DELETE FROM placement_resource_classes WHERE id = ?", id);
}

export function createTrait({ state, unit }: Changing, name: string): Trait {
  const created: Trait = { id: state.nextId("traits"), name, createdAt: unit.now, providers: new Set() };
  unit.apply(
    () => state.traits.set(name, created),
    () => state.traits.delete(name),
  );
  unit.write("INSERT INTO placement_traits (id, name, created_at) VALUES (?, ?, ?)", created.id, name, unit.now);
  return created;
}

/** @throws {PlacementError} TraitNotFound, CannotChangeStandard, InUse */
export function deleteTrait({ state, unit }: Changing, name: string): void {
  const trait = state.trait(name);
  if (!name.startsWith(CUSTOM)) {
    throw new PlacementError("CannotChangeStandard", `Cannot delete standard trait ${name}.`);
  }
  if (trait.providers.size > 0) {
    throw new PlacementError("InUse", `The trait ${name} is in use by a resource provider.`);
  }
  unit.apply(
    () => state.traits.delete(name),
    () => state.traits.set(name, trait),
  );
  unit.write("DELETE FROM placement_traits WHERE id = ?", trait.id);
}

/** Replaces the provider's traits. Increments its generation if they change. */
export function setTraits(changing: Changing, provider: Provider, traits: ReadonlySet<Trait>): void {
  const { unit } = changing;
  const toAdd = [...traits].filter((trait) => !provider.traits.has(trait));
  const toDelete = [...provider.traits].filter((trait) => !traits.has(trait));
  if (toAdd.length === 0 && toDelete.length === 0) {
    return;
  }
  unit.apply(
    () => exchange(provider, toDelete, toAdd),
    () => exchange(provider, toAdd, toDelete),
  );
  // One statement for all of them: a new host has dozens.
  if (toDelete.length > 0) {
    const sql =
      "DELETE FROM placement_provider_traits WHERE provider_id = ? AND trait_id IN (SELECT value FROM json_each(?))";
    unit.write(sql, provider.id, idsOf(toDelete));
  }
  if (toAdd.length > 0) {
    const sql = "INSERT INTO placement_provider_traits (provider_id, trait_id) SELECT ?, value FROM json_each(?)";
    unit.write(sql, provider.id, idsOf(toAdd));
  }
  incrementGeneration(unit, provider);
}

function exchange(provider: Provider, gone: readonly Trait[], come: readonly Trait[]): void {
  for (const trait of gone) {
    leave(provider, provider.traits, trait);
  }
  for (const trait of come) {
    join(provider, provider.traits, trait);
  }
}

const idsOf = (traits: readonly Trait[]): string => JSON.stringify(traits.map(({ id }) => id));

/** Replaces the provider's aggregates; creates unknown ones. */
export function setAggregates(
  changing: Changing,
  provider: Provider,
  uuids: readonly string[],
  raiseGeneration: boolean,
): void {
  const { unit } = changing;
  const requested = new Set(uuids.map((uuid) => ensureAggregate(changing, uuid)));
  for (const aggregate of [...provider.aggregates].filter((each) => !requested.has(each))) {
    unit.apply(
      () => leave(provider, provider.aggregates, aggregate),
      () => join(provider, provider.aggregates, aggregate),
    );
    const sql = "DELETE FROM placement_provider_aggregates WHERE provider_id = ? AND aggregate_id = ?";
    unit.write(sql, provider.id, aggregate.id);
  }
  for (const aggregate of [...requested].filter((each) => !provider.aggregates.has(each))) {
    unit.apply(
      () => join(provider, provider.aggregates, aggregate),
      () => leave(provider, provider.aggregates, aggregate),
    );
    const sql = "INSERT INTO placement_provider_aggregates (provider_id, aggregate_id) VALUES (?, ?)";
    unit.write(sql, provider.id, aggregate.id);
  }
  if (raiseGeneration) {
    incrementGeneration(unit, provider);
  }
}

function ensureAggregate({ state, unit }: Changing, uuid: string): Aggregate {
  const known = state.aggregates.get(uuid);
  if (known !== undefined) {
    return known;
  }
  const created: Aggregate = { id: state.nextId("aggregates"), uuid, providers: new Set() };
  unit.apply(
    () => state.aggregates.set(uuid, created),
    () => state.aggregates.delete(uuid),
  );
  unit.write("INSERT INTO placement_aggregates (id, uuid) VALUES (?, ?)", created.id, uuid);
  return created;
}

function join<T extends { readonly providers: Set<Provider> }>(provider: Provider, own: Set<T>, other: T): void {
  own.add(other);
  other.providers.add(provider);
}

function leave<T extends { readonly providers: Set<Provider> }>(provider: Provider, own: Set<T>, other: T): void {
  own.delete(other);
  other.providers.delete(provider);
}
