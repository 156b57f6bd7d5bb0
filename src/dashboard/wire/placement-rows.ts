export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent: string | null;
  readonly root: string;
  /** Host of the compute node that its root is; null: there is none. */
  readonly host: string | null;
  /** By resource class. */
  readonly inventory: Readonly<Record<string, InventoryRow>>;
  /** Key of a row of `traits`. */
  readonly traits: string;
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly total: number;
  readonly reserved: number;
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What is used, by the type of the consumer. */
  readonly used: Readonly<Record<ConsumerType, number>>;
}

/** `stale`: neither a server that is there nor a move that is under way. */
export type ConsumerType = "server" | "migration" | "stale";

export interface ConsumerRow {
  readonly uuid: string;
  readonly type: ConsumerType;
  /** The server that it is, or whose move it is; null: not known. */
  readonly server: string | null;
  /** What Placement calls it: `INSTANCE`, `MIGRATION` … */
  readonly placementType: string | null;
  readonly generation: number;
  readonly projectId: string;
  readonly userId: string;
  /** Provider → resource class → amount. */
  readonly held: Readonly<Record<string, Readonly<Record<string, number>>>>;
}
