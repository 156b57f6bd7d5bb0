import * as fs from "node:fs";
import {
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Random } from "../cryptography.js";
import { FileFailure, type FileStat, type Files, type WriteOptions } from "../files.js";
import type { Bytes } from "../http.js";
import type { Runtime } from "../runtime.js";
import { nodeRandom } from "./node-cryptography.js";
import { codeOf, SynchronousFiles } from "./synchronous-files.js";

/** Names of {@link NodeFiles}' temporary files. A killed process leaves them behind. */
const UNFINISHED = /^\..+\.[0-9a-f]{12}\.tmp$/;

/** Error codes of file systems without hard links, such as those that a virtual machine shares with its host. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Bytes read at a time. */
const PART = 256 * 1024;

/** Max characters of a text that is written synchronously. */
const MAX_SYNC_WRITE = 64 * 1024;

/** Flushes always use a thread. */
const fsync = promisify(fs.fsync);

/** Changes within this many milliseconds are merged. */
const WATCH_DELAY = 10;

export class NodeFiles implements Files {
  readonly #onDisk: boolean;
  readonly #quick = new SynchronousFiles();
  readonly #random = nodeRandom();

  /**
   * @param options `onDisk`: files survive a power loss, as {@link Files} specifies; false: they only survive this
   * process
   */
  constructor({ onDisk = true }: { readonly onDisk?: boolean } = {}) {
    this.#onDisk = onDisk;
  }

  async read(path: string): Promise<string> {
    return this.#quick.read(path)?.found ?? attempt(path, "read", () => readFile(path, "utf8"));
  }

  async readIfPresent(path: string): Promise<string | undefined> {
    const quick = this.#quick.read(path);
    return quick ? quick.found : attempt(path, "read", () => orAbsent(undefined, () => readFile(path, "utf8")));
  }

  async write(
    path: string,
    text: string,
    { mode = 0o644, unseen = false, fleeting = false }: WriteOptions = {},
  ): Promise<void> {
    const flush = this.#onDisk && !fleeting;
    await attempt(path, "write", () =>
      unseen
        ? this.#put(path, text, { mode, flush, flag: "w" })
        : this.#written(path, text, { mode, flush }, (unfinished) => this.#rename(unfinished, path)),
    );
  }

  async create(path: string, text: string, { mode = 0o644 }: { readonly mode?: number } = {}): Promise<void> {
    await attempt(path, "create", () =>
      text === ""
        ? // An empty file is complete as soon as it exists.
          this.#inFolder(path, () => this.#put(path, text, { mode, flush: false, flag: "wx" }))
        : this.#written(path, text, { mode, flush: this.#onDisk }, async (unfinished) => {
            await this.#nameUnlessTaken(unfinished, path, text);
            await this.#unlink(unfinished);
          }),
    );
  }

  async readBytes(path: string): Promise<Bytes> {
    const handle = await attempt(path, "read", () => open(path, "r"));
    return partsOf(path, handle);
  }

  async writeBytes(
    path: string,
    bytes: Bytes,
    { mode = 0o644, signal }: { readonly mode?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<number> {
    signal?.throwIfAborted();
    const unfinished = this.#besides(path);
    const handle = await attempt(path, "write", () => this.#inFolder(path, () => open(unfinished, "wx", mode)));
    let written = 0;
    try {
      try {
        for await (const part of bytes) {
          signal?.throwIfAborted();
          await attempt(path, "write", () => writeAll(handle, part));
          written += part.length;
        }
        signal?.throwIfAborted();
        if (this.#onDisk) {
          await attempt(path, "write", () => handle.sync());
        }
      } finally {
        await handle.close();
      }
      await attempt(path, "write", () => this.#rename(unfinished, path));
    } catch (error) {
      await this.#removeAll(unfinished);
      throw error;
    }
    return written;
  }

  async append(path: string, text: string): Promise<void> {
    const how = { mode: 0o644, flush: false, flag: "a" } as const;
    await attempt(path, "append", () => this.#inFolder(path, () => this.#put(path, text, how)));
  }

  async truncate(path: string, bytes: number): Promise<void> {
    await attempt(path, "truncate", async () => {
      const handle = await this.#inFolder(path, () => open(path, "a"));
      try {
        await handle.truncate(bytes);
      } finally {
        await handle.close();
      }
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await attempt(from, "rename", () => this.#rename(from, to));
  }

  async remove(path: string): Promise<void> {
    await attempt(path, "remove", () => this.#removeAll(path));
  }

  async makeFolder(path: string, options?: { readonly mode?: number }): Promise<void> {
    if (this.#quick.stat(path)?.found?.isDirectory() !== true) {
      await attempt(path, "make folder", () => this.#makeFolders(path, options?.mode ?? 0o755));
    }
  }

  async list(path: string): Promise<string[]> {
    const quick = this.#quick.list(path);
    const names = quick ? (quick.found ?? []) : await attempt(path, "list", () => orAbsent([], () => readdir(path)));
    return names.filter((name) => !UNFINISHED.test(name)).sort();
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const quick = this.#quick.stat(path);
    const found = quick ? quick.found : await attempt(path, "stat", () => orAbsent(undefined, () => stat(path)));
    return (
      found && {
        kind: found.isFile() ? "file" : found.isDirectory() ? "folder" : "other",
        bytes: found.size,
        modified: found.mtimeMs,
        mode: found.mode & 0o7777,
      }
    );
  }

  watch(folder: string, listener: (names?: readonly string[]) => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    let names: Set<string | null> | undefined;
    const watcher = watcherOf(folder);
    // One function for both events, since thousands of folders are watched. The removal of the folder counts as a
    // change.
    const onChange = (_what: unknown, changed?: unknown) => {
      const name = typeof changed === "string" ? changed : null;
      if (name === null || !UNFINISHED.test(name)) {
        names ??= new Set();
        names.add(name);
        timer ??= setTimeout(() => {
          timer = undefined;
          const found = [...(names ?? [])];
          names = undefined;
          listener(found.every((known) => known !== null) ? found : undefined);
        }, WATCH_DELAY);
      }
    };
    watcher.on("change", onChange).on("error", onChange);
    return () => {
      watcher.close();
      clearTimeout(timer);
    };
  }

  #besides(path: string): string {
    return join(dirname(path), `.${basename(path)}.${this.#random.hex(6)}.tmp`);
  }

  /**
   * Writes a temporary file beside `path` and calls `name` to move or link it there.
   * @param how `flush`: the text is on the disk before `name` is called
   */
  async #written(
    path: string,
    text: string,
    how: { readonly mode: number; readonly flush: boolean },
    name: (unfinished: string) => Promise<void>,
  ): Promise<void> {
    const unfinished = this.#besides(path);
    try {
      await this.#inFolder(path, () => this.#put(unfinished, text, { ...how, flag: "wx" }));
      await name(unfinished);
    } catch (error) {
      await this.#removeAll(unfinished);
      throw error;
    }
  }

  /** @param how `flush`: the text is on the disk when this resolves */
  async #put(
    path: string,
    text: string,
    how: { readonly mode: number; readonly flag: "w" | "wx" | "a"; readonly flush: boolean },
  ): Promise<void> {
    if (this.#quick.isBusy || text.length > MAX_SYNC_WRITE) {
      await writeFile(path, text, how);
      return;
    }
    const file = this.#quick.spend(() => openWith(path, text, how));
    try {
      if (how.flush) {
        await fsync(file);
      }
    } finally {
      fs.closeSync(file);
    }
  }

  #rename(from: string, to: string): Promise<void> {
    return this.#quick.change(
      () => fs.renameSync(from, to),
      () => rename(from, to),
    );
  }

  #unlink(path: string): Promise<void> {
    return this.#quick.change(
      () => fs.unlinkSync(path),
      () => unlink(path),
    );
  }

  /** Unlike a rename, a link fails if the target exists. */
  async #nameUnlessTaken(unfinished: string, path: string, text: string): Promise<void> {
    try {
      await this.#quick.change(
        () => fs.linkSync(unfinished, path),
        () => link(unfinished, path),
      );
    } catch (error) {
      if (!NO_LINKS.has(codeOf(error))) {
        throw error;
      }
      const { mode } = await stat(unfinished);
      await writeFile(path, text, { mode, flag: "wx", flush: true });
    }
  }

  /** Usually a file or an empty folder is removed: one or two calls are enough. */
  async #removeAll(path: string): Promise<void> {
    try {
      await this.#unlink(path).catch((error: unknown) => {
        if (codeOf(error) === "EISDIR") {
          return rmdir(path);
        }
        throw error;
      });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") {
        await rm(path, { recursive: true, force: true });
      }
    }
  }

  /** Runs `work`. If the folder of `path` does not exist, creates it and runs `work` again. */
  async #inFolder<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== "ENOENT") {
        throw error;
      }
      await this.#makeFolders(dirname(path), 0o777);
      return work();
    }
  }

  /**
   * Creates a folder and its parents unless they exist. Node's own recursion never ends where a folder cannot be created
   * at all, as below /proc. The parent is looked up first: most folders of a new host are nested, and a call that fails
   * costs several that succeed.
   */
  async #makeFolders(path: string, mode: number): Promise<void> {
    const parent = dirname(path);
    if (parent !== path && (await this.stat(parent)) === undefined) {
      await this.#makeFolders(parent, mode);
    }
    try {
      await this.#makeFolder(path, mode);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || parent === path) {
        throw error;
      }
      // The parent was removed in the meantime.
      await this.#makeFolders(parent, mode);
      await this.#makeFolder(path, mode);
    }
  }

  async #makeFolder(path: string, mode: number): Promise<void> {
    try {
      await this.#quick.change(
        () => fs.mkdirSync(path, { mode }),
        () => mkdir(path, { mode }),
      );
    } catch (error) {
      if (codeOf(error) !== "EEXIST" || !(await stat(path)).isDirectory()) {
        throw error;
      }
    }
  }
}

/** Returns the descriptor of the file, which contains the text and is not flushed. */
function openWith(
  path: string,
  text: string,
  { flag, mode }: { readonly flag: string; readonly mode: number },
): number {
  const file = fs.openSync(path, flag, mode);
  try {
    fs.writeFileSync(file, text);
    return file;
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
}

/** @throws {FileFailure} */
function watcherOf(folder: string): fs.FSWatcher {
  try {
    return fs.watch(folder, { persistent: false });
  } catch (error) {
    throw failure(folder, "watch", error);
  }
}

async function writeAll(handle: FileHandle, part: Uint8Array): Promise<void> {
  let done = 0;
  while (done < part.length) {
    done += (await handle.write(part, done, part.length - done)).bytesWritten;
  }
}

async function* partsOf(path: string, handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const part = Buffer.allocUnsafe(PART);
      const { bytesRead } = await attempt(path, "read", () => handle.read(part, 0, PART));
      if (bytesRead === 0) {
        return;
      }
      yield part.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function attempt<T>(path: string, operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failure(path, operation, error);
  }
}

async function orAbsent<T, A>(absent: A, work: () => Promise<T>): Promise<T | A> {
  try {
    return await work();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) {
      return absent;
    }
    throw error;
  }
}

function failure(path: string, operation: string, error: unknown): FileFailure {
  return error instanceof FileFailure ? error : new FileFailure(path, codeOf(error), operation, { cause: error });
}

/** Returns an unused path for a temporary folder. */
export function temporaryPath(name: string, { uuid }: Pick<Random, "uuid">): string {
  return join(tmpdir(), `${name}-${uuid()}`);
}

/** Runs `work` in a new folder that only this user can read, and removes it afterwards. */
export async function inTemporaryFolder<T>(
  { files, random }: Pick<Runtime, "files" | "random">,
  name: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = temporaryPath(name, random);
  await files.makeFolder(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await files.remove(folder);
  }
}
