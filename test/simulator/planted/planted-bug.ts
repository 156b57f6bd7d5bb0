import type { QuirkName } from "../../../src/config/quirks.js";

/** A text that occurs once in a source of the product, and its replacement. */
export interface Edit {
  /** Relative to the project's folder. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug in the product that real operators met, or could meet. The simulator must find it. */
export interface PlantedBug {
  /** The number of the bug at Launchpad, or a name of our own. */
  readonly bug: number | string;
  /** A short description of the failure. */
  readonly what: string;
  /** The profile for its seeds; default: the command's. */
  readonly profile?: string;
  /** The quirks that enable the bug, if the product supports it. */
  readonly quirks?: readonly QuirkName[];
  /** Changes of a copy of the build. */
  readonly edits?: readonly Edit[];
}
