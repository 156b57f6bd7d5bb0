import { FileFailure, type FileStat, type Files } from "../../runtime/files.js";
import { type Bytes, bytesOf, textIn } from "../../runtime/http.js";

/** Wraps files and stores every write in memory: readers see the written content, and nothing reaches the disk. */
export class OverlayFiles implements Files {
  readonly #below: Files;
  /** Path → text; null: removed. */
  readonly #changed = new Map<string, string | null>();
  readonly #folders = new Set<string>();

  constructor(below: Files) {
    this.#below = below;
  }

  async read(path: string): Promise<string> {
    const text = await this.readIfPresent(path);
    if (text === undefined) {
      throw new FileFailure(path, "ENOENT", "read");
    }
    return text;
  }

  async readIfPresent(path: string): Promise<string | undefined> {
    const changed = this.#above(path);
    return changed === undefined ? this.#below.readIfPresent(path) : (changed ?? undefined);
  }

  async write(path: string, text: string): Promise<void> {
    this.#changed.set(path, text);
  }

  async create(path: string, text: string): Promise<void> {
    if (await this.stat(path)) {
      throw new FileFailure(path, "EEXIST", "create");
    }
    this.#changed.set(path, text);
  }

  async readBytes(path: string): Promise<Bytes> {
    return this.#above(path) === undefined ? this.#below.readBytes(path) : bytesOf(await this.read(path));
  }

  async writeBytes(path: string, bytes: Bytes): Promise<number> {
    const text = await textIn(bytes);
    this.#changed.set(path, text);
    return Buffer.byteLength(text);
  }

  async append(path: string, text: string): Promise<void> {
    this.#changed.set(path, `${(await this.readIfPresent(path)) ?? ""}${text}`);
  }

  async truncate(path: string, bytes: number): Promise<void> {
    this.#changed.set(path, ((await this.readIfPresent(path)) ?? "").slice(0, bytes));
  }

  async rename(from: string, to: string): Promise<void> {
    this.#changed.set(to, await this.read(from));
    this.#changed.set(from, null);
  }

  async remove(path: string): Promise<void> {
    for (const written of this.#changed.keys()) {
      if (written.startsWith(`${path}/`)) {
        this.#changed.delete(written);
      }
    }
    this.#changed.set(path, null);
  }

  async makeFolder(path: string): Promise<void> {
    this.#folders.add(path);
  }

  async list(path: string): Promise<string[]> {
    const names = new Set(this.#removed(path) ? [] : await this.#below.list(path));
    for (const [written, text] of this.#changed) {
      const [name, ...rest] = written.startsWith(`${path}/`) ? written.slice(path.length + 1).split("/") : [];
      if (name !== undefined && text !== null) {
        names.add(name);
      } else if (name !== undefined && rest.length === 0) {
        names.delete(name);
      }
    }
    return [...names].sort();
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const text = this.#above(path);
    if (typeof text === "string") {
      return { kind: "file", bytes: Buffer.byteLength(text), modified: 0, mode: 0o644 };
    }
    if (this.#folders.has(path)) {
      return { kind: "folder", bytes: 0, modified: 0, mode: 0o755 };
    }
    return text === null ? undefined : this.#below.stat(path);
  }

  /** Watches the folder below; a folder that exists only in memory never reports a change. */
  watch(folder: string, listener: (names?: readonly string[]) => void): () => void {
    try {
      return this.#below.watch(folder, listener);
    } catch (error) {
      if (error instanceof FileFailure && this.#folders.has(folder)) {
        return () => {};
      }
      throw error;
    }
  }

  /** Returns the text written here, or null if the path was removed here; undefined: unchanged. */
  #above(path: string): string | null | undefined {
    return this.#changed.get(path) ?? (this.#removed(path) ? null : undefined);
  }

  #removed(path: string): boolean {
    for (let folder = path; folder !== ""; folder = folder.slice(0, folder.lastIndexOf("/"))) {
      if (this.#changed.get(folder) === null) {
        return true;
      }
    }
    return false;
  }
}
