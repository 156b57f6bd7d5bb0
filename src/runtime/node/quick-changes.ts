import * as fs from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { SyncTimeBudget } from "./fast-ticks.js";
import { codeOf } from "./file-codes.js";
import { Flushes } from "./flushes.js";

// Promises of callbacks: what node:fs/promises has takes nearly twice as long, and a process of thousands of hosts does little else.
const open = promisify(fs.open);
const close = promisify(fs.close);
const ftruncate = promisify(fs.ftruncate);
const link = promisify(fs.link);
const mkdir = promisify(fs.mkdir);
const rename = promisify(fs.rename);
const rmdir = promisify(fs.rmdir);
const stat = promisify(fs.stat);
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
        stat(path).then(
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
      if (codeOf(error) !== "EEXIST" || !(await stat(path)).isDirectory()) {
        throw error;
      }
    }
  }

  async #do<T>(now: () => T, later: () => Promise<T>): Promise<T> {
    return this.#budget.isOver ? later() : this.#budget.spend(now);
  }
}
