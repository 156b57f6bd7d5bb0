import type { Aggregate, Provider, Trait } from "../model/records.js";
import type { Changing } from "./context.js";
import { incrementGeneration } from "./provider-changes.js";

/** Makes these the provider's only traits; its generation rises if that changes anything. */
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
  // One statement for all of them: a new host has some dozens.
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

/** Makes these the provider's only aggregates; ones not known before come into being. */
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
