import type { ProviderSummary, RootOffer } from "../../placement-client/types.js";

/** What Placement holds, linked for reading. Times are milliseconds since the epoch; ids are the database's. */

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
  /** Itself when it has no parent. */
  root: Provider;
  readonly children: Set<Provider>;
  readonly inventories: Map<ResourceClass, Inventory>;
  readonly traits: Set<Trait>;
  readonly aggregates: Set<Aggregate>;
  /** The consumers with allocations of this provider. */
  readonly consumers: Set<Consumer>;
  readonly createdAt: number;
  updatedAt: number | null;
  /** Parts of answers made from this provider; emptied whenever it changes. */
  fragments: Fragments | null;
}

export interface Fragments {
  /** Pieces of JSON. */
  readonly pieces: Map<string, string>;
  /** For who takes records; of the ways to take all from this provider, the last one. */
  summary: ProviderSummary | null;
  offer: { readonly amounts: string; readonly made: RootOffer } | null;
}

/** The amounts of an inventory, as the API names them. */
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
  /** What all allocations take of it. */
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
  /** Null for consumers made before microversion 1.38: `unknown`. */
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

/** The amount that an inventory may give, before it is rounded down. */
export function capacityOf(amounts: InventoryAmounts): number {
  return (amounts.total - amounts.reserved) * amounts.allocation_ratio;
}

/** Why a change or a search is impossible, worded as Placement's own exceptions. */
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

  /** `reservedCanBeTotal`: from microversion 1.26 on. */
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

/** Whether an inventory can give an amount now: there is enough left, and its units and steps allow it. */
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
