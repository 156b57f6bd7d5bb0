import { PlacementError, type Provider } from "../model.js";
import { type Changing, subtree } from "./state.js";

export interface NewProvider {
  readonly uuid: string;
  readonly name: string;
  readonly parentUuid: string | null;
}

/** @throws {PlacementError} ObjectActionError, or Duplicate with the column as its message */
export function createProvider({ state, unit }: Changing, { uuid, name, parentUuid }: NewProvider): Provider {
  if (name === "") {
    throw actionError("create", "name is required");
  }
  if (parentUuid === uuid) {
    throw actionError(
      "create",
      "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.",
    );
  }
  const parent = parentUuid === null ? null : state.providers.get(parentUuid);
  if (parent === undefined) {
    throw actionError("create", "parent provider UUID does not exist.");
  }
  // SQLite reports only one violated constraint, and the UUID's comes first.
  if (state.providers.has(uuid)) {
    throw new PlacementError("Duplicate", "uuid");
  }
  if (state.providersByName.has(name)) {
    throw new PlacementError("Duplicate", "name");
  }

  const provider = newProvider(state.nextId("providers"), uuid, name, parent, unit.now);
  unit.apply(
    () => {
      link(provider);
      state.providers.set(uuid, provider);
      state.providersByName.set(name, provider);
      if (parent !== null) {
        state.nested += 1;
      }
    },
    () => {
      parent?.children.delete(provider);
      state.providers.delete(uuid);
      state.providersByName.delete(name);
      if (parent !== null) {
        state.nested -= 1;
      }
    },
  );
  unit.write(
    "INSERT INTO placement_resource_providers (id, uuid, name, generation, parent_id, root_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    provider.id,
    uuid,
    name,
    provider.generation,
    parent?.id ?? null,
    provider.root.id,
    provider.createdAt,
    provider.updatedAt,
  );
  return provider;
}

function actionError(action: string, reason: string): PlacementError {
  return new PlacementError("ObjectActionError", `Object action ${action} failed because: ${reason}`);
}

/** Returns an empty provider that is not yet linked to its parent. */
export function newProvider(id: number, uuid: string, name: string, parent: Provider | null, now: number): Provider {
  const children = new Set<Provider>();
  const provider = {
    id,
    uuid,
    name,
    generation: 0,
    parent,
    children,
    inventories: new Map(),
    traits: new Set<never>(),
    aggregates: new Set<never>(),
    consumers: new Set<never>(),
    createdAt: now,
    // Upstream creates a root with two statements; the second counts as an update.
    updatedAt: parent === null ? now : null,
    fragments: null,
  };
  const root = parent?.root ?? null;
  return root === null ? withSelfAsRoot(provider) : Object.assign(provider, { root });
}

function withSelfAsRoot(provider: Omit<Provider, "root">): Provider {
  const self = provider as Provider;
  self.root = self;
  return self;
}

function link(provider: Provider): void {
  provider.parent?.children.add(provider);
}

/** @throws {PlacementError} NotFound, CannotDeleteParent, InUse */
export function deleteProvider({ state, unit }: Changing, uuid: string): void {
  const provider = state.providers.get(uuid);
  if (provider === undefined) {
    throw new PlacementError("NotFound", `No resource provider with uuid ${uuid} found`);
  }
  if (provider.children.size > 0) {
    throw new PlacementError("CannotDeleteParent", "the provider has children");
  }
  if (provider.consumers.size > 0) {
    throw new PlacementError("InUse", "the provider has allocations");
  }
  unit.apply(
    () => {
      state.providers.delete(uuid);
      state.providersByName.delete(provider.name);
      if (provider.parent !== null) {
        state.nested -= 1;
      }
      provider.parent?.children.delete(provider);
      for (const trait of provider.traits) {
        trait.providers.delete(provider);
      }
      for (const aggregate of provider.aggregates) {
        aggregate.providers.delete(provider);
      }
      for (const inventory of provider.inventories.values()) {
        inventory.resourceClass.inventories.delete(inventory);
      }
    },
    () => {
      state.providers.set(uuid, provider);
      state.providersByName.set(provider.name, provider);
      if (provider.parent !== null) {
        state.nested += 1;
      }
      provider.parent?.children.add(provider);
      for (const trait of provider.traits) {
        trait.providers.add(provider);
      }
      for (const aggregate of provider.aggregates) {
        aggregate.providers.add(provider);
      }
      for (const inventory of provider.inventories.values()) {
        inventory.resourceClass.inventories.add(inventory);
      }
    },
  );
  unit.gone(provider);
  for (const table of ["placement_inventories", "placement_provider_traits", "placement_provider_aggregates"]) {
    unit.write(`DELETE FROM ${table} WHERE provider_id = ?`, provider.id);
  }
  unit.write("DELETE FROM placement_resource_providers WHERE id = ?", provider.id);
}

export interface ProviderUpdate {
  readonly name: string;
  readonly parentUuid: string | null;
  /** From microversion 1.37 on, a parent can be replaced or removed. */
  readonly allowReparenting: boolean;
}

/** @throws {PlacementError} ObjectActionError, or Duplicate with the column as its message */
export function updateProvider(changing: Changing, provider: Provider, update: ProviderUpdate): void {
  const { state } = changing;
  const { name, parentUuid, allowReparenting } = update;
  const parent = parentUuid === null ? null : state.providers.get(parentUuid);
  if (parent === undefined) {
    throw actionError("create", "parent provider UUID does not exist.");
  }
  if (parent !== null) {
    if (provider.parent !== null && provider.parent !== parent && !allowReparenting) {
      throw actionError("update", "re-parenting a provider is not currently allowed.");
    }
    if (subtree(provider).includes(parent)) {
      throw actionError("update", "creating loop in the provider tree is not allowed.");
    }
  } else if (provider.parent !== null && !allowReparenting) {
    throw actionError("update", "un-parenting a provider is not currently allowed.");
  }
  const other = state.providersByName.get(name);
  if (other !== undefined && other !== provider) {
    throw new PlacementError("Duplicate", "name");
  }
  if (name !== provider.name) {
    rename(changing, provider, name);
  }
  if (parent !== provider.parent) {
    reparent(changing, provider, parent);
  }
}

function rename({ state, unit }: Changing, provider: Provider, name: string): void {
  const before = provider.name;
  state.providersByName.delete(before);
  state.providersByName.set(name, provider);
  provider.name = name;
  unit.changed(provider, "all", () => {
    state.providersByName.delete(name);
    state.providersByName.set(before, provider);
    provider.name = before;
  });
}

function reparent({ state, unit }: Changing, provider: Provider, parent: Provider | null): void {
  const before = provider.parent;
  const nested = Number(parent !== null) - Number(before !== null);
  provider.parent = parent;
  before?.children.delete(provider);
  parent?.children.add(provider);
  state.nested += nested;
  unit.changed(provider, "all", () => {
    provider.parent = before;
    parent?.children.delete(provider);
    before?.children.add(provider);
    state.nested -= nested;
  });
  const root = parent?.root ?? provider;
  for (const member of subtree(provider)) {
    const { root: formerRoot } = member;
    // Their summaries contain the root's UUID, even if this row itself does not change.
    member.fragments = null;
    if (formerRoot === root) {
      continue;
    }
    member.root = root;
    unit.changed(member, "all", () => {
      member.root = formerRoot;
    });
  }
}

export function incrementGeneration(unit: Changing["unit"], provider: Provider): void {
  provider.generation += 1;
  unit.changed(provider, "generation", () => {
    provider.generation -= 1;
  });
}
