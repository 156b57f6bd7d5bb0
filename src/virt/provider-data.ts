import { VirtError } from "./errors.js";
import type { Inventory } from "./types.js";

/** An inventory to set. Omitted fields have Placement's defaults (reserved 0, min_unit 1, step_size 1, ratio 1.0). */
export type InventoryRecord = Pick<Inventory, "total"> & Partial<Omit<Inventory, "total">>;

/** One provider of a tree. Immutable: every update creates a new object. */
export interface ProviderData {
  /** The provider's uuid in Placement; equal to the node's uuid for a node's provider. */
  readonly uuid: string;
  /** Unique in all of Placement. */
  readonly name: string;
  /** Null for a root. */
  readonly parentUuid: string | null;
  /** The uuid of the tree's root; a root's own uuid. */
  readonly rootUuid: string;
  /** The provider's generation in Placement; null until it exists there. */
  readonly generation: number | null;
  /** Inventories by resource class. */
  readonly inventory: Readonly<Record<string, InventoryRecord>>;
  /** Names of all traits, including those set by others than the driver. */
  readonly traits: ReadonlySet<string>;
  /** Uuids of Placement aggregates. */
  readonly aggregates: ReadonlySet<string>;
  /** Discrete resources: identifiers by resource class. Not sent to Placement. */
  readonly resources: Readonly<Record<string, readonly string[]>>;
}

/** The tree has no provider with this name or uuid. */
export class NoSuchProvider extends VirtError {
  override readonly name = "NoSuchProvider";

  constructor(nameOrUuid: string) {
    super(`no provider ${nameOrUuid} in the tree: check exists() first, or create it with newChild()`);
  }
}

/** The tree already has a provider with this name or uuid. */
export class ProviderExists extends VirtError {
  override readonly name = "ProviderExists";

  constructor(name: string, uuid: string, found: ProviderData) {
    super(
      `provider ${name} (${uuid}) clashes with ${found.name} (${found.uuid}) in the tree: names and uuids are unique; ` +
        "find the existing one by its name instead of creating it again",
    );
  }
}

/** A provider in a listing of Placement. */
export interface ListedProvider {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parentUuid: string | null;
}
