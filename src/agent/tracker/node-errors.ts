/** What an exception of one node's pass leads to. */
export type NodeErrorEffect = "warn" | "log" | "propagate";

interface NodeErrorRow {
  readonly names: readonly string[];
  readonly startup: NodeErrorEffect;
  readonly periodic: NodeErrorEffect;
}

/** Spec 4.8, row by row; a name that no row has is the last row's, "anything else". */
const ROWS: readonly NodeErrorRow[] = [
  { names: ["ComputeHostNotFound"], startup: "warn", periodic: "warn" },
  { names: ["ReshapeFailed"], startup: "propagate", periodic: "propagate" },
  { names: ["ReshapeNeeded"], startup: "propagate", periodic: "propagate" },
  { names: ["PlacementPciException"], startup: "propagate", periodic: "log" },
  { names: ["InvalidConfiguration"], startup: "propagate", periodic: "log" },
];
const ANYTHING_ELSE: NodeErrorRow = { names: [], startup: "log", periodic: "log" };

/** By the error's name: errors of drivers, Placement and conductor come from different families of classes. */
export function nodeErrorEffect(error: unknown, startup: boolean): NodeErrorEffect {
  const name = error instanceof Error ? error.name : "";
  const row = ROWS.find(({ names }) => names.includes(name)) ?? ANYTHING_ELSE;
  return startup ? row.startup : row.periodic;
}
