import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../../src/control-plane/store/store.js";
import { EMPTY_STATE } from "./empty-state.js";

/**
 * The state of record of a simulated cloud: a file for each start of its control plane, which begins with what the one before has
 * committed. A control plane that is killed while it starts leaves a handle that nobody can close; it holds a file that nobody wants.
 */
export class StateFiles {
  readonly #folder: string;
  #starts = 0;

  /** @param folder one of the real world: SQLite keeps its files there for the simulated one */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** For the next start. */
  next(): string {
    if (this.#starts === 0) {
      writeFileSync(this.#path(), EMPTY_STATE);
    }
    const last = this.#path();
    this.#starts += 1;
    const path = this.#path();
    for (const part of ["", "-wal"]) {
      if (existsSync(`${last}${part}`)) {
        copyFileSync(`${last}${part}`, `${path}${part}`);
      }
    }
    return path;
  }

  #path(): string {
    return join(this.#folder, `state-${this.#starts}.sqlite`);
  }
}

/** Nothing of a simulation has to outlive its process: nothing waits for a disk, and no transaction takes a lock and gives it back. */
export function makeQuick({ database }: Store): void {
  for (const pragma of ["locking_mode = EXCLUSIVE", "synchronous = OFF", "journal_mode = MEMORY"]) {
    database.file.exec(`PRAGMA ${pragma}`);
  }
}
