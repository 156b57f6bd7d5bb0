import { appendFileSync, existsSync, readFileSync } from "node:fs";

/**
 * An entry of a session's report. Entries are lines written synchronously, so that a hanging mutant can be identified.
 */
export type Entry =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "try"; readonly id: number; readonly test: string }
  | { readonly kind: "kill"; readonly id: number; readonly test: string }
  | { readonly kind: "reach"; readonly ids: readonly number[] }
  /** Reached while modules were loaded. */
  | { readonly kind: "load"; readonly ids: readonly number[] }
  /** A test that fails without any mutant. */
  | { readonly kind: "red"; readonly test: string }
  /** A mutant's time is used up. */
  | { readonly kind: "spent"; readonly id: number }
  | { readonly kind: "end" };

export class Journal {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  write(entry: Entry): void {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`);
  }
}

/** Reads the entries that were added since the last call. */
export class JournalReader {
  readonly #path: string;
  #read = 0;

  constructor(path: string) {
    this.#path = path;
  }

  next(): readonly Entry[] {
    const text = existsSync(this.#path) ? readFileSync(this.#path, "utf8") : "";
    const end = text.lastIndexOf("\n") + 1;
    const lines = text.slice(this.#read, end).split("\n").filter(Boolean);
    this.#read = end;
    return lines.map((line) => JSON.parse(line) as Entry);
  }
}
