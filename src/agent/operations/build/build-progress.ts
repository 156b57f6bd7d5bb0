import type { Instance } from "../../../records/index.js";
import type { Claim } from "../../tracker/contract.js";

/** How far a build came, for what has to be undone. */
export interface BuildProgress {
  instance: Instance;
  claim: Claim | null;
  /** The driver was asked to prepare, or to spawn. */
  driverCalled: boolean;
}
