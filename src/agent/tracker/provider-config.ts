import type { InventoryRecord } from "../../virt/provider-tree.js";

/** One entry of a provider.yaml (spec 4.9). */
export interface ProviderConfig {
  readonly file: string;
  /** A uuid, `$COMPUTE_NODE`, or a provider's name. */
  readonly identification: { readonly uuid: string } | { readonly name: string };
  readonly inventories: Readonly<Record<string, InventoryRecord>>;
  readonly traits: readonly string[];
}

/** Stands for every root that is a compute node and has no entry of its own. */
export const EVERY_COMPUTE_NODE = "$COMPUTE_NODE";
