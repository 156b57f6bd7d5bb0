import { SharedAccess } from "./access/shared-access.js";
import { KnownNames } from "./known-names.js";

/** What the hosts of a process that have the same `[placement]` know together. */
export class SharedPlacementState {
  readonly names = new KnownNames();
  readonly placement = new SharedAccess();
  readonly images = new SharedAccess();
}
