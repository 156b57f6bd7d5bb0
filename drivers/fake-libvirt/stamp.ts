import type { Clock, Files } from "../../src/virt/index.js";

/** What changed so shortly (in ms) before it was looked at may change again without a new time stamp. */
export const TIME_STAMP_STEP = 2_000;

/** Tells, without reading it, whether a file or folder is as it was when it was last asked about. */
export class Stamp {
  #modified = Number.NaN;
  #bytes = 0;
  #lookedAt = 0;

  /** False: it may have changed, or is not there. What is read of it has to be read after this. */
  async isUnchanged(
    path: string,
    { files, clock }: { readonly files: Files; readonly clock: Clock },
  ): Promise<boolean> {
    const now = clock.now();
    const { modified = Number.NaN, bytes = 0 } = (await files.stat(path)) ?? {};
    const isUnchanged =
      modified === this.#modified && bytes === this.#bytes && this.#lookedAt - modified > TIME_STAMP_STEP;
    this.#modified = modified;
    this.#bytes = bytes;
    this.#lookedAt = now;
    return isUnchanged;
  }
}
