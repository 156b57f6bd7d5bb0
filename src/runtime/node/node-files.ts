import { type FSWatcher, watch } from "node:fs";
import {
  appendFile,
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
import type { Random } from "../cryptography.js";
import { FileFailure, type FileStat, type Files, type WriteOptions } from "../files.js";
import type { Bytes } from "../http.js";
import type { Runtime } from "../runtime.js";
import { nodeRandom } from "./node-cryptography.js";
import { codeOf, SynchronousReads } from "./synchronous-reads.js";

/** Names of {@link NodeFiles}' temporary files. A killed process leaves them behind. */
const UNFINISHED = /^\..+\.[0-9a-f]{12}\.tmp$/;

/** Error codes of file systems without hard links, such as those that a virtual machine shares with its host. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Bytes read at a time. */
const PART = 256 * 1024;

/** Changes within this many milliseconds are merged. */
const WATCH_DELAY = 10;

export class NodeFiles implements Files {
  readonly #onDisk: boolean;
  readonly #quick = new SynchronousReads();
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
        ? writeFile(path, text, { mode, flush })
        : this.#written(path, text, { mode, flush }, (unfinished) => rename(unfinished, path)),
    );
  }

  async create(path: string, text: string, { mode = 0o644 }: { readonly mode?: number } = {}): Promise<void> {
    await attempt(path, "create", () =>
      text === ""
        ? // An empty file is complete as soon as it exists.
          inFolder(path, () => writeFile(path, text, { mode, flag: "wx" }))
        : this.#written(path, text, { mode, flush: this.#onDisk }, async (unfinished) => {
            await nameUnlessTaken(unfinished, path, text);
            await unlink(unfinished);
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
    const handle = await attempt(path, "write", () => inFolder(path, () => open(unfinished, "wx", mode)));
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
      await attempt(path, "write", () => rename(unfinished, path));
    } catch (error) {
      await removeAll(unfinished);
      throw error;
    }
    return written;
  }

  async append(path: string, text: string): Promise<void> {
    await attempt(path, "append", () => inFolder(path, () => appendFile(path, text, { mode: 0o644 })));
  }

  async truncate(path: string, bytes: number): Promise<void> {
    await attempt(path, "truncate", async () => {
      const handle = await inFolder(path, () => open(path, "a"));
      try {
        await handle.truncate(bytes);
      } finally {
        await handle.close();
      }
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await attempt(from, "rename", () => rename(from, to));
  }

  async remove(path: string): Promise<void> {
    await attempt(path, "remove", () => removeAll(path));
  }

  async makeFolder(path: string, options?: { readonly mode?: number }): Promise<void> {
    if (this.#quick.stat(path)?.found?.isDirectory() !== true) {
      await attempt(path, "make folder", () => makeFolders(path, options?.mode ?? 0o755));
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
      await inFolder(path, () => writeFile(unfinished, text, { ...how, flag: "wx" }));
      await name(unfinished);
    } catch (error) {
      await removeAll(unfinished);
      throw error;
    }
  }
}

/** Unlike a rename, a link fails if the target exists. */
async function nameUnlessTaken(unfinished: string, path: string, text: string): Promise<void> {
  try {
    await link(unfinished, path);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) {
      throw error;
    }
    const { mode } = await stat(unfinished);
    await writeFile(path, text, { mode, flag: "wx", flush: true });
  }
}

/** Usually a file or an empty folder is removed: one or two calls are enough. */
async function removeAll(path: string): Promise<void> {
  try {
    await unlink(path).catch((error: unknown) => {
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
async function inFolder<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      throw error;
    }
    await makeFolders(dirname(path), 0o777);
    return work();
  }
}

/**
 * Creates a folder and its parents unless they exist. Node's own recursion never ends where a folder cannot be created
 * at all, as below /proc.
 */
async function makeFolders(path: string, mode: number): Promise<void> {
  try {
    await makeFolder(path, mode);
  } catch (error) {
    const parent = dirname(path);
    if (codeOf(error) !== "ENOENT" || parent === path) {
      throw error;
    }
    await makeFolders(parent, mode);
    await makeFolder(path, mode);
  }
}

async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST" || !(await stat(path)).isDirectory()) {
      throw error;
    }
  }
}

/** @throws {FileFailure} */
function watcherOf(folder: string): FSWatcher {
  try {
    return watch(folder, { persistent: false });
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
