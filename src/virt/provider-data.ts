import { VirtError } from "./errors.js";
import type { Inventory } from "./types.js";

/** An inventory to be set: what is left out is Placement's default (reserved 0, min_unit 1, step_size 1, ratio 1.0). */
export type InventoryRecord = Pick<Inventory, "total"> & Partial<Omit<Inventory, "total">>;

/** One provider of a tree. Never changes: every update makes a new one. */
export interface ProviderData {
  /** The provider's uuid in Placement; a node's provider has the node's. */
  readonly uuid: string;
  /** Unique in the whole Placement. */
  readonly name: string;
  /** Null for a root. */
  readonly parentUuid: string | null;
  /** The root of its tree; its own for a root. */
  readonly rootUuid: string;
  /** Placement's generation of the provider; null until it is made there. */
  readonly generation: number | null;
  /** Inventories by resource class. */
  readonly inventory: Readonly<Record<string, InventoryRecord>>;
  /** Names, those of others included. */
  readonly traits: ReadonlySet<string>;
  /** Uuids of Placement aggregates. */
  readonly aggregates: ReadonlySet<string>;
  /** Discrete resources: identifiers by resource class. They stay in the agent. */
  readonly resources: Readonly<Record<string, readonly string[]>>;
}

/** The name or uuid is not in the tree. */
export class NoSuchProvider extends VirtError {
  override readonly name = "NoSuchProvider";

  constructor(nameOrUuid: string) {
    super(`no provider ${nameOrUuid} in the tree: ask exists() first, or make it with newChild()`);
  }
}

/** The name or uuid is in the tree already. */
export class ProviderExists extends VirtError {
  override readonly name = "ProviderExists";

  constructor(name: string, uuid: string, found: ProviderData) {
    super(
      `provider ${name} (${uuid}) clashes with ${found.name} (${found.uuid}) in the tree: names and uuids are unique; ` +
        "find the existing one by its name instead of making it again",
    );
  }
}

/** One provider as Placement lists it. */
export interface ListedProvider {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parentUuid: string | null;
}
