import { LONGEST, type RecordOf, text } from "./field.js";

/** A file that a guest is to begin with (`personality`). */
export const INJECTED_FILE = {
  /** In the guest. */
  path: text(),
  /** Base64, as the user gave it. */
  contents: text(LONGEST),
};

export type InjectedFile = RecordOf<typeof INJECTED_FILE>;
