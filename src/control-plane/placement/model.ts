import type { ProviderSummary, RootOffer } from "../../placement-client/types.js";

/** Placement's records, linked for reading. Times are milliseconds since the epoch; ids are the database's. */

export interface ResourceClass {
  readonly id: number;
  name: string;
  readonly createdAt: number;
  updatedAt: number | null;
  readonly inventories: Set<Inventory>;
}

export interface Trait {
  readonly id: number;
  readonly name: string;
  readonly createdAt: number;
  readonly providers: Set<Provider>;
}

export interface Aggregate {
  readonly id: number;
  readonly uuid: string;
  readonly providers: Set<Provider>;
}

export interface Project {
  readonly id: number;
  readonly externalId: string;
  readonly consumers: Set<Consumer>;
}

export interface User {
  readonly id: number;
  readonly externalId: string;
}

export interface ConsumerType {
  readonly id: number;
  readonly name: string;
}

export interface Provider {
  readonly id: number;
  readonly uuid: string;
  name: string;
  generation: number;
  parent: Provider | null;
  /** The provider itself if it has no parent. */
  root: Provider;
  readonly children: Set<Provider>;
  readonly inventories: Map<ResourceClass, Inventory>;
  readonly traits: Set<Trait>;
  readonly aggregates: Set<Aggregate>;
  /** The consumers with allocations on this provider. */
  readonly consumers: Set<Consumer>;
  readonly createdAt: number;
  updatedAt: number | null;
  /** Cached parts of responses; cleared whenever the provider changes. */
  fragments: Fragments | null;
}

export interface Fragments {
  /** Pieces of JSON. */
  readonly pieces: Map<string, string>;
  /** For clients that accept records. Only the last offer is cached. */
  summary: ProviderSummary | null;
  offer: { readonly amounts: string; readonly made: RootOffer } | null;
}

/** The amounts of an inventory, named as in the API. */
export interface InventoryAmounts {
  readonly total: number;
  readonly reserved: number;
  readonly min_unit: number;
  readonly max_unit: number;
  readonly step_size: number;
  readonly allocation_ratio: number;
}

export interface Inventory {
  readonly provider: Provider;
  readonly resourceClass: ResourceClass;
  amounts: InventoryAmounts;
  /** The sum of all allocations. */
  used: number;
  readonly createdAt: number;
  updatedAt: number | null;
}

export interface Consumer {
  readonly id: number;
  readonly uuid: string;
  generation: number;
  project: Project;
  user: User;
  /** Null for consumers created before microversion 1.38; the API reports `unknown`. */
  type: ConsumerType | null;
  allocations: readonly Allocation[];
  readonly createdAt: number;
}

export interface Allocation {
  readonly consumer: Consumer;
  readonly inventory: Inventory;
  readonly used: number;
  readonly createdAt: number;
}

/** Returns the capacity of an inventory, not yet rounded down. */
export function capacityOf(amounts: InventoryAmounts): number {
  return (amounts.total - amounts.reserved) * amounts.allocation_ratio;
}

/** Rejects a change or a search; has the message of Placement's own exception. */
export class PlacementError extends Error {
  override readonly name: string = "PlacementError";
}

export class NotFound extends PlacementError {
  override readonly name: string = "NotFound";
}

export class ResourceClassNotFound extends NotFound {
  override readonly name = "ResourceClassNotFound";

  constructor(resourceClass: string) {
    super(`No such resource class ${resourceClass}.`);
  }
}

export class TraitNotFound extends NotFound {
  override readonly name = "TraitNotFound";

  constructor(trait: string) {
    super(`No such trait(s): ${trait}.`);
  }
}

export class InventoryWithResourceClassNotFound extends NotFound {
  override readonly name = "InventoryWithResourceClassNotFound";

  constructor(resourceClass: string) {
    super(`No inventory of class ${resourceClass} found.`);
  }
}

export class InvalidInventory extends PlacementError {
  override readonly name: string = "InvalidInventory";

  constructor(resourceClass: string, provider: string, message?: string) {
    super(message ?? `Inventory for '${resourceClass}' on resource provider '${provider}' invalid.`);
  }
}

export class InvalidAllocationCapacityExceeded extends InvalidInventory {
  override readonly name = "InvalidAllocationCapacityExceeded";

  constructor(resourceClass: string, provider: string) {
    const what = `Unable to create allocation for '${resourceClass}' on resource provider '${provider}'.`;
    super(resourceClass, provider, `${what} The requested amount would exceed the capacity.`);
  }
}

export class InvalidAllocationConstraintsViolated extends InvalidInventory {
  override readonly name = "InvalidAllocationConstraintsViolated";

  constructor(resourceClass: string, provider: string) {
    const what = `Unable to create allocation for '${resourceClass}' on resource provider '${provider}'.`;
    super(resourceClass, provider, `${what} The requested amount would violate inventory constraints.`);
  }
}

export class InvalidInventoryCapacity extends InvalidInventory {
  override readonly name = "InvalidInventoryCapacity";

  /** @param reservedCanBeTotal from microversion 1.26 on */
  constructor(resourceClass: string, provider: string, reservedCanBeTotal: boolean) {
    const what = `Invalid inventory for '${resourceClass}' on resource provider '${provider}'.`;
    const relation = reservedCanBeTotal ? "greater than" : "greater than or equal to";
    super(resourceClass, provider, `${what} The reserved value is ${relation} total.`);
  }
}

export class InventoryInUse extends InvalidInventory {
  override readonly name = "InventoryInUse";

  constructor(resourceClasses: string, provider: string) {
    const message = `Inventory for '${resourceClasses}' on resource provider '${provider}' in use.`;
    super(resourceClasses, provider, message);
  }
}

export class ObjectActionError extends PlacementError {
  override readonly name = "ObjectActionError";

  constructor(action: string, reason: string) {
    super(`Object action ${action} failed because: ${reason}`);
  }
}

/** Checks whether an inventory can allocate an amount now: capacity, min and max unit, step size. */
export function hasRoom(inventory: Inventory | undefined, amount: number): boolean {
  if (inventory === undefined) {
    return false;
  }
  const { amounts, used } = inventory;
  return (
    used + amount <= capacityOf(amounts) &&
    amounts.min_unit <= amount &&
    amounts.max_unit >= amount &&
    amount % amounts.step_size === 0
  );
}
