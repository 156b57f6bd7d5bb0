import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";

/** Milliseconds of looks in one turn of the event loop. */
const SLICE = 2;
/** Bytes of a file that is read at once. */
const SMALL = 64 * 1024;

/** What there is under a path; undefined: nothing. */
export interface Found<T> {
  readonly found: T | undefined;
}

/**
 * Looks at files that are small, without a thread: what the kernel has in its memory takes less than to ask a thread for it, a file's
 * four calls less than a tenth. A slow disk must not hold the event loop, so that in each of its turns only a slice of time goes by so;
 * after that, and of what is no plain small file, each look says undefined, and a thread has to be asked.
 */
export class QuickLooks {
  #spent = 0;
  #isCounting = false;

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
    if (this.#spent >= SLICE) {
      return undefined;
    }
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#spent = 0;
      });
    }
    const began = performance.now();
    try {
      return look();
    } catch {
      // It went meanwhile, or cannot be read: the thread's answer says so.
      return undefined;
    } finally {
      this.#spent += performance.now() - began;
    }
  }
}
