import { SPLIT_ALLOCATIONS_SERVICE_VERSION } from "../../records/index.js";
import type { Store } from "../store/store.js";

/** The owner of the source's half of a move (spec 6.0): the instance itself, or the migration. */
export type MoveStrategy = "doubled" | "split";

/** Chosen for each move: `split` once every nova-compute of the deployment is of Queens or later. */
export function moveStrategy(store: Store): MoveStrategy {
  return store.services.minimumVersion("nova-compute") >= SPLIT_ALLOCATIONS_SERVICE_VERSION ? "split" : "doubled";
}
