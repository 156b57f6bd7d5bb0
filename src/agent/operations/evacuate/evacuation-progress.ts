import type { Instance, Migration, MigrationStatus } from "../../../records/index.js";
import type { Claim } from "../../tracker/contract.js";

/** How far an evacuation came, for what has to be undone. */
export interface EvacuationProgress {
  readonly instance: Instance;
  readonly migration: Migration;
  claim: Claim | null;
  /** The claim was refused, or never made: the instance keeps its vm_state. */
  phase: "claiming" | "spawning";
  /** The guest's files were here before: they belong to the source too. */
  diskReused: boolean;
  /** The driver was asked to make the guest. */
  spawned: boolean;
}

/** What an evacuation is that is not done, and has not failed. */
export const UNENDED: readonly MigrationStatus[] = ["accepted", "pre-migrating"];
