import type { ProviderSummary, RootOffer } from "../../placement-client/types.js";
import type { HttpError } from "../http/http-error.js";

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

/** The more general codes of a code. */
const GENERAL_CODES = {
  NotFound: null,
  ResourceClassNotFound: "NotFound",
  TraitNotFound: "NotFound",
  InventoryWithResourceClassNotFound: "NotFound",
  InvalidInventory: null,
  InvalidInventoryCapacity: "InvalidInventory",
  InventoryInUse: "InvalidInventory",
  /** An inventory, class or provider with this key exists. */
  Duplicate: null,
  /** A standard class or trait cannot be changed or deleted. */
  CannotChangeStandard: null,
  /** A class has inventories, a trait is on a provider, or a provider has allocations. */
  InUse: null,
  /** The provider has children. */
  CannotDeleteParent: null,
  /** The values of a provider contradict each other. */
  ObjectActionError: null,
  PolicyNotAuthorized: null,
} as const;

export type PlacementErrorCode = keyof typeof GENERAL_CODES;

/** Rejects a change or a search; has the message of Placement's own exception. */
export class PlacementError extends Error {
  override readonly name = "PlacementError";
  readonly code: PlacementErrorCode;

  constructor(code: PlacementErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** Returns whether the error has the code, or a more specific one. */
  is(code: PlacementErrorCode): boolean {
    return this.code === code || GENERAL_CODES[this.code] === code;
  }
}

/**
 * Runs a change or a search, and converts its errors.
 * @param toHttpErrors create the error of a code, or of its more specific ones, from the message
 * @throws {HttpError | PlacementError}
 */
export function translateErrors<T>(
  work: () => T,
  toHttpErrors: Readonly<Partial<Record<PlacementErrorCode, (message: string) => HttpError>>>,
): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    const general = GENERAL_CODES[error.code];
    const toHttpError = toHttpErrors[error.code] ?? (general === null ? undefined : toHttpErrors[general]);
    throw toHttpError?.(error.message) ?? error;
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
