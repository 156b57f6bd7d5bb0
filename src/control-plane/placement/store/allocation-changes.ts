import {
  type Allocation,
  type Consumer,
  type ConsumerType,
  capacityOf,
  type Inventory,
  PlacementError,
  type Project,
  type Provider,
  type User,
} from "../model.js";
import { incrementGeneration } from "./provider-changes.js";
import type { Changing } from "./state.js";

/** The owner and the type of a consumer. */
export interface Ownership {
  readonly project: Project;
  readonly user: User;
  /** Null before microversion 1.38: an existing type remains. */
  readonly type: ConsumerType | null;
}

/** The requested amount of a consumer on a provider; 0 removes the allocation. */
export interface RequestedAllocation {
  readonly consumer: Consumer;
  readonly provider: Provider;
  readonly className: string;
  readonly used: number;
}

/**
 * Replaces all allocations of the listed consumers by the requested ones. Increments the generation of each listed
 * provider and consumer.
 * Deletes consumers without remaining allocations.
 * @throws {PlacementError} ResourceClassNotFound or InvalidInventory, if a class is unknown, a provider has no such inventory, or its
 * capacity is exceeded.
 */
export function replaceAllocations(changing: Changing, requested: readonly RequestedAllocation[]): void {
  const { state, unit } = changing;
  for (const { className } of requested) {
    state.resourceClass(className);
  }
  const before = usageBefore(changing, requested);
  const consumers = new Set(requested.map(({ consumer }) => consumer));
  for (const consumer of consumers) {
    setAllocations(changing, consumer, []);
  }
  const inventories = checkCapacity(changing, requested, before);

  const held = new Map<Consumer, Allocation[]>();
  requested.forEach(({ consumer, used }, index) => {
    const inventory = inventories[index];
    if (used === 0 || inventory === undefined) {
      return;
    }
    const list = held.get(consumer);
    const allocation = { consumer, inventory, used, createdAt: unit.now };
    if (list === undefined) {
      held.set(consumer, [allocation]);
    } else {
      list.push(allocation);
    }
  });
  for (const [consumer, allocations] of held) {
    setAllocations(changing, consumer, allocations);
  }
  for (const provider of new Set(requested.map((each) => each.provider))) {
    incrementGeneration(unit, provider);
  }
  for (const consumer of consumers) {
    consumer.generation += 1;
    unit.apply(
      () => unit.consumer(consumer, "generation"),
      () => {
        consumer.generation -= 1;
      },
    );
    if (!held.has(consumer)) {
      deleteConsumer(changing, consumer);
    }
  }
}

/** Deletes a consumer and all its allocations. No generation changes. */
export function deleteAllocations(changing: Changing, consumer: Consumer): void {
  setAllocations(changing, consumer, []);
  deleteConsumer(changing, consumer);
}

function usageBefore({ state }: Changing, requested: readonly RequestedAllocation[]): ReadonlyMap<Inventory, number> {
  const before = new Map<Inventory, number>();
  for (const { provider, className } of requested) {
    const inventory = provider.inventories.get(state.resourceClass(className));
    if (inventory !== undefined) {
      before.set(inventory, inventory.used);
    }
  }
  return before;
}

/** Returns the inventory of each requested allocation; undefined for one that is only removed. */
function checkCapacity(
  { state }: Changing,
  requested: readonly RequestedAllocation[],
  before: ReadonlyMap<Inventory, number>,
): (Inventory | undefined)[] {
  checkProviders({ state }, requested);
  const sums = new Map<Inventory, number>();
  return requested.map(({ provider, className, used: amount }) => {
    if (amount === 0) {
      return undefined;
    }
    const inventory = provider.inventories.get(state.resourceClass(className));
    if (inventory === undefined) {
      throw invalidInventory(className, provider.uuid);
    }
    const { amounts, used } = inventory;
    if (amount < amounts.min_unit || amount > amounts.max_unit || amount % amounts.step_size !== 0) {
      throw invalidAllocation(className, provider, "violate inventory constraints");
    }
    const sum = (sums.get(inventory) ?? 0) + amount;
    sums.set(inventory, sum);
    // Usage that already exceeds the capacity is accepted unless it grows.
    const formerly = before.get(inventory) ?? 0;
    if (capacityOf(amounts) < used + sum && (formerly === 0 || used + sum > formerly)) {
      throw invalidAllocation(className, provider, "exceed the capacity");
    }
    return inventory;
  });
}

/** Checks that each provider has an inventory of at least one of the classes. */
function checkProviders({ state }: Pick<Changing, "state">, requested: readonly RequestedAllocation[]): void {
  const classes = new Set(requested.map(({ className }) => state.resourceClass(className)));
  const without = new Set<Provider>();
  for (const { provider } of requested) {
    let found = false;
    for (const resourceClass of classes) {
      found ||= provider.inventories.has(resourceClass);
    }
    if (!found) {
      without.add(provider);
    }
  }
  if (without.size === 0) {
    return;
  }
  const names = [...classes].sort((a, b) => a.id - b.id).map(({ name }) => name);
  throw invalidInventory(names.join(", "), [...without].map(({ uuid }) => uuid).join(", "));
}

function invalidInventory(classNames: string, providerUuids: string): PlacementError {
  const message = `Inventory for '${classNames}' on resource provider '${providerUuids}' invalid.`;
  return new PlacementError("InvalidInventory", message);
}

function invalidAllocation(className: string, { uuid }: Provider, what: string): PlacementError {
  const message = `Unable to create allocation for '${className}' on resource provider '${uuid}'.`;
  return new PlacementError("InvalidInventory", `${message} The requested amount would ${what}.`);
}

function setAllocations({ unit }: Changing, consumer: Consumer, allocations: readonly Allocation[]): void {
  const before = consumer.allocations;
  if (before.length === 0 && allocations.length === 0) {
    return;
  }
  unit.allocated(consumer, before);
  unit.apply(
    () => replace(consumer, allocations),
    () => replace(consumer, before),
  );
}

function replace(consumer: Consumer, allocations: readonly Allocation[]): void {
  for (const { inventory, used } of consumer.allocations) {
    inventory.used -= used;
    inventory.provider.consumers.delete(consumer);
    inventory.provider.fragments = null;
  }
  for (const { inventory, used } of allocations) {
    inventory.used += used;
    inventory.provider.consumers.add(consumer);
    inventory.provider.fragments = null;
  }
  consumer.allocations = allocations;
}

export function createConsumer({ state, unit }: Changing, uuid: string, owner: Ownership): Consumer {
  const { project, user, type } = owner;
  const id = state.nextId("consumers");
  const consumer: Consumer = { id, uuid, generation: 0, project, user, type, allocations: [], createdAt: unit.now };
  unit.apply(
    () => {
      state.consumers.set(uuid, consumer);
      project.consumers.add(consumer);
    },
    () => {
      state.consumers.delete(uuid);
      project.consumers.delete(consumer);
    },
  );
  unit.consumer(consumer, "created");
  return consumer;
}

function deleteConsumer({ state, unit }: Changing, consumer: Consumer): void {
  unit.apply(
    () => {
      state.consumers.delete(consumer.uuid);
      consumer.project.consumers.delete(consumer);
    },
    () => {
      state.consumers.set(consumer.uuid, consumer);
      consumer.project.consumers.add(consumer);
    },
  );
  unit.consumer(consumer, "deleted");
}

/** Changes the consumer's project, user or type. Its generation does not change. */
export function updateConsumer({ unit }: Changing, consumer: Consumer, owner: Ownership): void {
  const { project, user, type } = consumer;
  const newType = owner.type ?? type;
  if (project === owner.project && user === owner.user && type === newType) {
    return;
  }
  const set = (next: Ownership) => {
    consumer.project.consumers.delete(consumer);
    consumer.project = next.project;
    consumer.user = next.user;
    consumer.type = next.type;
    next.project.consumers.add(consumer);
  };
  unit.apply(
    () => set({ ...owner, type: newType }),
    () => set({ project, user, type }),
  );
  unit.consumer(consumer, "owner");
}

export function ensureProject({ state, unit }: Changing, externalId: string): Project {
  const known = state.projects.get(externalId);
  if (known !== undefined) {
    return known;
  }
  const created: Project = { id: state.nextId("projects"), externalId, consumers: new Set() };
  unit.apply(
    () => state.projects.set(externalId, created),
    () => state.projects.delete(externalId),
  );
  unit.write("INSERT INTO placement_projects (id, external_id) VALUES (?, ?)", created.id, externalId);
  return created;
}

export function ensureUser({ state, unit }: Changing, externalId: string): User {
  const known = state.users.get(externalId);
  if (known !== undefined) {
    return known;
  }
  const created: User = { id: state.nextId("users"), externalId };
  unit.apply(
    () => state.users.set(externalId, created),
    () => state.users.delete(externalId),
  );
  unit.write("INSERT INTO placement_users (id, external_id) VALUES (?, ?)", created.id, externalId);
  return created;
}

export function ensureConsumerType({ state, unit }: Changing, name: string): ConsumerType {
  const known = state.consumerTypes.get(name);
  if (known !== undefined) {
    return known;
  }
  const created: ConsumerType = { id: state.nextId("consumer_types"), name };
  unit.apply(
    () => state.consumerTypes.set(name, created),
    () => state.consumerTypes.delete(name),
  );
  unit.write("INSERT INTO placement_consumer_types (id, name) VALUES (?, ?)", created.id, name);
  return created;
}
