import * as fs from "node:fs";
import { fsync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";

/** Max milliseconds of synchronous file work per event-loop tick. */
const SLICE = 10;

/**
 * Limits how long synchronous file work blocks the event loop. A call on cached data is faster than dispatching it to a
 * thread, but a slow disk must not block the loop: each tick has one slice of time.
 */
export class SyncTimeBudget {
  #spent = 0;
  #isCounting = false;

  /** Whether the slice is used up and work must go to a thread. */
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
 * Flushes files to disk in threads. The requests of an event-loop tick are dispatched as a batch: waking a thread costs
 * more than its work, and the file system writes concurrent requests as one.
 * @internal
 */
export class Flushes {
  readonly #fsync: Fsync;
  #waiting: Waiting[] = [];

  constructor(handOver: Fsync = fsync) {
    this.#fsync = handOver;
  }

  /** Resolves when the contents of the open file are on the disk. */
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

// Promisified callbacks: node:fs/promises takes nearly twice as long, and file I/O dominates in a process with
// thousands of hosts.
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

/** Max characters of a text that is written synchronously. */
const SMALL = 64 * 1024;

/**
 * Changes names, folders and small files synchronously, since writing one file takes six calls. Uses threads when the
 * time budget of the tick is used up. Flushes always use a thread.
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

  /** Removes an empty folder. */
  rmdir(path: string): Promise<void> {
    return this.#do(
      () => fs.rmdirSync(path),
      () => rmdir(path),
    );
  }

  /** @param how `flag`: `wx` for a new file, `a` to append; `flush`: the file is on the disk when this resolves */
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

  /** Creates or resizes a file to `bytes` bytes. */
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
   * Creates a folder and its parents. Node's own recursion never ends where a folder cannot be created at all, as below
   * /proc. The parent is checked first: most folders of a new host are nested, and a failing call costs several
   * succeeding ones.
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
      // The parent was removed in the meantime.
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

  /** Creates a folder unless it exists. */
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

/** Max bytes of a file that is read synchronously. */
const MAX_SYNC_READ_BYTES = 64 * 1024;

/** The result of a lookup; `found` is undefined if nothing exists at the path. */
interface Found<T> {
  readonly found: T | undefined;
}

/**
 * Reads small files synchronously: the four calls of a file take less than a tenth of the time of a thread. Each method
 * returns undefined when the time budget is used up or the path is not a small regular file. The caller must then use a
 * thread.
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
      // Reading a pipe would block.
      return stat.isFile() && stat.size <= MAX_SYNC_READ_BYTES ? { found: readFileSync(path, "utf8") } : undefined;
    });
  }

  list(path: string): Found<string[]> | undefined {
    return this.#within(() => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // The size of a folder is that of its list of names.
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
      // It was removed meanwhile or is not readable. The call in a thread reports the error.
      return undefined;
    }
  }
}

/** Returns the code of a file system error: `ENOENT`, `EEXIST`, … */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "EUNKNOWN";
}
