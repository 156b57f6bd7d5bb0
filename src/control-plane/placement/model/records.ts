import type { ProviderSummary, RootOffer } from "../../../placement-client/types.js";

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
