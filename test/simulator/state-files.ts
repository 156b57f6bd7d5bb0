import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../../src/control-plane/store/store.js";
import { EMPTY_STATE } from "./empty-state.js";

/**
 * The database of a simulated cloud: one file for each start of its control plane, a copy of the last one.
 * If a control plane is killed while it starts, its handle cannot be closed; it then refers only to an abandoned file.
 */
export class StateFiles {
  readonly #folder: string;
  #starts = 0;

  /** @param folder a real folder, where SQLite stores its files */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the file for the next start. */
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

/**
 * Speeds up the database: a simulation need not be durable, so nothing waits for the disk or locks the file for each
 * transaction.
 */
export function makeQuick({ database }: Store): void {
  for (const pragma of ["locking_mode = EXCLUSIVE", "synchronous = OFF", "journal_mode = MEMORY"]) {
    database.file.exec(`PRAGMA ${pragma}`);
  }
}
