import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import type { SyncTimeBudget } from "./fast-ticks.js";

/** Bytes of a file that is read at once. */
const SMALL = 64 * 1024;

/** What there is under a path; undefined: nothing. */
export interface Found<T> {
  readonly found: T | undefined;
}

/**
 * Looks at files that are small, without a thread: a file's four calls take less than a tenth. When the turn's time is over, and of
 * what is no plain small file, each look says undefined, and a thread has to be asked.
 */
export class SyncFileReader {
  readonly #budget: SyncTimeBudget;

  constructor(budget: SyncTimeBudget) {
    this.#budget = budget;
  }

  stat(path: string): Found<Stats> | undefined {
    return this.#within(() => ({ found: statSync(path, { throwIfNoEntry: false }) }));
  }

  read(path: string): Found<string> | undefined {
    return this.#within(() => {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) {
        return { found: undefined };
      }
      // A pipe would be waited for.
      return stat.isFile() && stat.size <= SMALL ? { found: readFileSync(path, "utf8") } : undefined;
    });
  }

  list(path: string): Found<string[]> | undefined {
    return this.#within(() => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // A folder's size is that of its list of names.
      return stat !== undefined && stat.size > SMALL ? undefined : { found: stat && readdirSync(path) };
    });
  }

  #within<T>(look: () => T | undefined): T | undefined {
    if (this.#budget.isOver) {
      return undefined;
    }
    try {
      return this.#budget.spend(look);
    } catch {
      // It went meanwhile, or cannot be read: the thread's answer says so.
      return undefined;
    }
  }
}
