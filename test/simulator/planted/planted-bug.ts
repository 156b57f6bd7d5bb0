import type { QuirkName } from "../../../src/config/quirks.js";

/** A text of a source of the product, which is there once, and what a planted bug has in its place. */
export interface Edit {
  /** From the project's folder. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug that real operators met, or could, in the product's own code: the simulator has to find it. */
export interface PlantedBug {
  /** The number of the bug at Launchpad, or a name of our own. */
  readonly bug: number | string;
  /** What goes wrong, in a few words. */
  readonly what: string;
  /** The profile whose seeds look for it; default: that of the command. */
  readonly profile?: string;
  /** Where the product can be told to have the bug: that is all it takes. */
  readonly quirks?: readonly QuirkName[];
  /** Made in a copy of the build. */
  readonly edits?: readonly Edit[];
}
