import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What a session reports, a line each, written at once: a mutant that never returns leaves its name here. */
export type Entry =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "try"; readonly id: number; readonly test: string }
  | { readonly kind: "kill"; readonly id: number; readonly test: string }
  | { readonly kind: "reach"; readonly ids: readonly number[] }
  /** Reached while modules were loaded. */
  | { readonly kind: "load"; readonly ids: readonly number[] }
  /** A test that fails without any mutant. */
  | { readonly kind: "red"; readonly test: string }
  /** A mutant has had its time. */
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

/** Reads what has been added since the last look. */
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
