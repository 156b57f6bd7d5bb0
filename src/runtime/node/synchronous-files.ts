import * as fs from "node:fs";
import { fsync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";

/** Milliseconds of work on files in one turn of the event loop. */
const SLICE = 10;

/**
 * How long work on files may hold the event loop. What the kernel has in its memory takes less than to ask a thread for it, but a slow
 * disk must not hold the loop: only a slice of each of its turns goes by so.
 */
export class SyncTimeBudget {
  #spent = 0;
  #isCounting = false;

  /** Whether a thread has to be asked instead. */
  get isOver(): boolean {
    return this.#spent >= SLICE;
  }

  spend<T>(work: () => T): T {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#spent = 0;
      });
    }
    const began = performance.now();
    try {
      return work();
    } finally {
      this.#spent += performance.now() - began;
    }
  }
}

interface Waiting {
  readonly file: number;
  readonly done: (error: Error | null) => void;
}

type Fsync = (file: number, done: Waiting["done"]) => void;

/**
 * Has threads wait until files are on the disk. Those of a turn of the event loop are handed over together: to wake a thread costs more
 * than what it does, and the file system writes for all who wait at a time.
 * @internal
 */
export class Flushes {
  readonly #fsync: Fsync;
  #waiting: Waiting[] = [];

  constructor(handOver: Fsync = fsync) {
    this.#fsync = handOver;
  }

  /** Resolves when what was written to the open file is on the disk. */
  flush(file: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ file, done: (error) => (error === null ? resolve() : reject(error)) });
      if (this.#waiting.length === 1) {
        setImmediate(() => this.#handOver());
      }
    });
  }

  #handOver(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const { file, done } of all) {
      this.#fsync(file, done);
    }
  }
}

// Promises of callbacks: what node:fs/promises has takes nearly twice as long, and a process of thousands of hosts does little else.
const open = promisify(fs.open);

const close = promisify(fs.close);

const ftruncate = promisify(fs.ftruncate);

const link = promisify(fs.link);

const mkdir = promisify(fs.mkdir);

const rename = promisify(fs.rename);

const rmdir = promisify(fs.rmdir);

const statFile = promisify(fs.stat);

const unlink = promisify(fs.unlink);

const writeFile = promisify(fs.writeFile);

/** Characters of a text that is written at once. */
const SMALL = 64 * 1024;

/**
 * Changes names, folders and small files without a thread, of which a file that is written takes six calls; by a thread when the
 * turn's time is over. What is to be on the disk is always waited for by a thread.
 */
export class QuickChanges {
  readonly #budget: SyncTimeBudget;
  readonly #flushes = new Flushes();

  constructor(budget: SyncTimeBudget) {
    this.#budget = budget;
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do(
      () => fs.renameSync(from, to),
      () => rename(from, to),
    );
  }

  link(from: string, to: string): Promise<void> {
    return this.#do(
      () => fs.linkSync(from, to),
      () => link(from, to),
    );
  }

  unlink(path: string): Promise<void> {
    return this.#do(
      () => fs.unlinkSync(path),
      () => unlink(path),
    );
  }

  /** Removes a folder that is empty. */
  rmdir(path: string): Promise<void> {
    return this.#do(
      () => fs.rmdirSync(path),
      () => rmdir(path),
    );
  }

  /** @param how `flag`: `wx` for a file that must not be there, `a` for its end; `flush`: it is on the disk before this resolves */
  async write(
    path: string,
    text: string,
    how: { readonly mode: number; readonly flag: "w" | "wx" | "a"; readonly flush: boolean },
  ): Promise<void> {
    const { mode, flag, flush } = how;
    if (this.#budget.isOver || text.length > SMALL) {
      await writeFile(path, text, how);
      return;
    }
    const file = this.#budget.spend(() => fs.openSync(path, flag, mode));
    try {
      this.#budget.spend(() => fs.writeFileSync(file, text));
      if (flush) {
        await this.#flushes.flush(file);
      }
    } finally {
      fs.closeSync(file);
    }
  }

  /** Makes, or changes, a file that has `bytes` bytes. */
  async truncate(path: string, bytes: number): Promise<void> {
    const file = await this.#do(
      () => fs.openSync(path, "a"),
      () => open(path, "a"),
    );
    try {
      await this.#do(
        () => fs.ftruncateSync(file, bytes),
        () => ftruncate(file, bytes),
      );
    } finally {
      await this.#do(
        () => fs.closeSync(file),
        () => close(file),
      );
    }
  }

  /**
   * Node's own recursion never ends where a folder cannot be made at all, as below /proc. The one above is looked for first: most of the
   * folders of a new host are in one another, and a call that fails costs several that do not.
   */
  async makeFolders(path: string, mode: number): Promise<void> {
    const above = dirname(path);
    if (above !== path && !(await this.#isThere(above))) {
      await this.makeFolders(above, mode);
    }
    try {
      await this.#makeFolder(path, mode);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || above === path) {
        throw error;
      }
      // It was removed meanwhile.
      await this.makeFolders(above, mode);
      await this.#makeFolder(path, mode);
    }
  }

  #isThere(path: string): Promise<boolean> {
    return this.#do(
      () => fs.statSync(path, { throwIfNoEntry: false }) !== undefined,
      () =>
        statFile(path).then(
          () => true,
          () => false,
        ),
    );
  }

  /** One that is there is fine. */
  async #makeFolder(path: string, mode: number): Promise<void> {
    try {
      await this.#do(
        () => fs.mkdirSync(path, { mode }),
        () => mkdir(path, { mode }),
      );
    } catch (error) {
      if (codeOf(error) !== "EEXIST" || !(await statFile(path)).isDirectory()) {
        throw error;
      }
    }
  }

  async #do<T>(now: () => T, later: () => Promise<T>): Promise<T> {
    return this.#budget.isOver ? later() : this.#budget.spend(now);
  }
}

/** Bytes of a file that is read at once. */
const MAX_SYNC_READ_BYTES = 64 * 1024;

/** What there is under a path; undefined: nothing. */
interface Found<T> {
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
      return stat.isFile() && stat.size <= MAX_SYNC_READ_BYTES ? { found: readFileSync(path, "utf8") } : undefined;
    });
  }

  list(path: string): Found<string[]> | undefined {
    return this.#within(() => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // A folder's size is that of its list of names.
      return stat !== undefined && stat.size > MAX_SYNC_READ_BYTES ? undefined : { found: stat && readdirSync(path) };
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

/** `ENOENT`, `EEXIST`, … of what the file system refused. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "EUNKNOWN";
}
