import { FileFailure, type FileStat } from "../runtime/files.js";

interface FileNode {
  readonly kind: "file";
  text: string;
  /** The contents if written as bytes, which may not be valid text. */
  raw?: Uint8Array;
  /** The size in bytes; larger than the text if the file is sparse. */
  bytes: number;
  mode: number;
  modified: number;
}

interface FolderNode {
  readonly kind: "folder";
  readonly entries: Map<string, TreeNode>;
  mode: number;
  modified: number;
}

type TreeNode = FileNode | FolderNode;

/** A disk that is full, or that delays every operation by `slow` milliseconds. */
export interface DiskTrouble {
  readonly full: boolean;
  readonly slow: number;
}

/** Fits into a string, and exceeds what any caller reads at once. */
const MAX_READ_BYTES = 256 * 1024 ** 2;

/** A file tree in memory, shared by processes. Notifies the watchers of a folder of changes. */
export class VirtualDisk {
  readonly #root: FolderNode = { kind: "folder", entries: new Map(), mode: 0o755, modified: 0 };
  readonly #watchers = new Map<string, Set<(name: string) => void>>();
  /** Files that are not synced, with their writers. */
  readonly #unsynced = new Map<FileNode, object>();
  readonly #troubles = new Map<string, DiskTrouble>();

  read(path: string): string | undefined {
    const node = this.#find(path);
    if (node?.kind === "folder") {
      throw new FileFailure(path, "EISDIR", "read");
    }
    if (node && node.bytes > MAX_READ_BYTES) {
      throw new FileFailure(path, "EFBIG", "read");
    }
    return node?.text.padEnd(node.text.length + Math.max(0, node.bytes - Buffer.byteLength(node.text)), "\0");
  }

  /**
   * Creates or replaces a file; creates parent folders.
   * @param unsyncedBy the writer whose power loss halves the file until it is synced
   */
  write(path: string, text: string, mode: number, now: number, operation: string, unsyncedBy?: object): void {
    const { folder, name } = this.#parent(path, now, operation);
    if (folder.entries.get(name)?.kind === "folder") {
      throw new FileFailure(path, "EISDIR", operation);
    }
    const node: FileNode = { kind: "file", text, bytes: Buffer.byteLength(text), mode, modified: now };
    folder.entries.set(name, node);
    if (unsyncedBy) {
      this.#unsynced.set(node, unsyncedBy);
    }
    this.#changed(path, folder, now);
  }

  /** Syncs a file, so that its contents survive a power loss of its writer. */
  sync(path: string): void {
    const node = this.#find(path);
    if (node?.kind === "file") {
      this.#unsynced.delete(node);
    }
  }

  readBytes(path: string): Uint8Array | undefined {
    const text = this.read(path);
    const node = this.#find(path);
    return text === undefined ? undefined : ((node?.kind === "file" ? node.raw : undefined) ?? Buffer.from(text));
  }

  writeBytes(path: string, raw: Uint8Array, mode: number, now: number): void {
    this.write(path, Buffer.from(raw).toString(), mode, now, "write");
    const node = this.#find(path);
    if (node?.kind === "file") {
      node.raw = raw;
      node.bytes = raw.length;
    }
  }

  resize(path: string, bytes: number, now: number): void {
    const found = this.#find(path);
    const text = found?.kind === "file" ? found.text : "";
    const truncated = Buffer.byteLength(text) > bytes ? Buffer.from(text).subarray(0, bytes).toString() : text;
    this.write(path, truncated, found?.mode ?? 0o644, now, "truncate");
    const node = this.#find(path);
    if (node?.kind === "file") {
      node.bytes = bytes;
    }
  }

  rename(from: string, to: string, now: number): void {
    const node = this.#find(from);
    const source = this.#find(folderOf(from));
    const target = this.#find(folderOf(to));
    if (!node || source?.kind !== "folder" || target?.kind !== "folder") {
      throw new FileFailure(node ? to : from, "ENOENT", "rename");
    }
    const replaced = target.entries.get(nameOf(to));
    if (replaced?.kind === "folder" && (node.kind === "file" || replaced.entries.size > 0)) {
      throw new FileFailure(to, node.kind === "file" ? "EISDIR" : "ENOTEMPTY", "rename");
    }
    if (replaced?.kind === "file" && node.kind === "folder") {
      throw new FileFailure(to, "ENOTDIR", "rename");
    }
    source.entries.delete(nameOf(from));
    target.entries.set(nameOf(to), node);
    this.#changed(from, source, now);
    this.#changed(to, target, now);
  }

  remove(path: string, now: number): void {
    const folder = this.#find(folderOf(path));
    if (folder?.kind === "folder" && folder.entries.delete(nameOf(path))) {
      this.#changed(path, folder, now);
    }
  }

  makeFolder(path: string, mode: number, now: number): void {
    this.#folder(segmentsOf(path), mode, now, path, "mkdir");
  }

  list(path: string): string[] {
    const node = this.#find(path);
    if (node?.kind === "file") {
      throw new FileFailure(path, "ENOTDIR", "list");
    }
    return node ? [...node.entries.keys()].sort() : [];
  }

  stat(path: string): FileStat | undefined {
    const node = this.#find(path);
    return (
      node && {
        kind: node.kind,
        bytes: node.kind === "file" ? node.bytes : 0,
        modified: node.modified,
        mode: node.mode,
      }
    );
  }

  /** Applies the power loss of a machine: halves every file that it has not synced. */
  tear(writer: object): void {
    for (const [file, by] of [...this.#unsynced]) {
      if (by === writer) {
        this.#unsynced.delete(file);
        file.bytes = Math.floor(file.bytes / 2);
        file.text = Buffer.from(file.text).subarray(0, file.bytes).toString();
      }
    }
  }

  /** Sets a disk problem for everything below a folder; null removes it. */
  setTrouble(folder: string, trouble: DiskTrouble | null): void {
    if (trouble === null) {
      this.#troubles.delete(keyOf(folder));
    } else {
      this.#troubles.set(keyOf(folder), trouble);
    }
  }

  troubleAt(path: string): DiskTrouble | undefined {
    for (const [folder, trouble] of this.#troubles) {
      if (keyOf(path).startsWith(`${folder}/`)) {
        return trouble;
      }
    }
    return undefined;
  }

  watch(folder: string, listener: (name: string) => void): () => void {
    if (this.#find(folder)?.kind !== "folder") {
      throw new FileFailure(folder, "ENOENT", "watch");
    }
    const key = keyOf(folder);
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(listener));
    return () => watchers.delete(listener);
  }

  #changed(path: string, folder: FolderNode, now: number): void {
    folder.modified = now;
    for (const listener of [...(this.#watchers.get(keyOf(folderOf(path))) ?? [])]) {
      listener(nameOf(path));
    }
  }

  #find(path: string): TreeNode | undefined {
    let node: TreeNode | undefined = this.#root;
    for (const segment of segmentsOf(path)) {
      node = node?.kind === "folder" ? node.entries.get(segment) : undefined;
    }
    return node;
  }

  #parent(path: string, now: number, operation: string): { folder: FolderNode; name: string } {
    const folder = this.#folder(segmentsOf(folderOf(path)), 0o755, now, path, operation);
    return { folder, name: nameOf(path) };
  }

  #folder(segments: readonly string[], mode: number, now: number, path: string, operation: string): FolderNode {
    let folder = this.#root;
    let reached = "";
    for (const segment of segments) {
      reached += `/${segment}`;
      let next = folder.entries.get(segment);
      if (!next) {
        next = { kind: "folder", entries: new Map(), mode, modified: now };
        folder.entries.set(segment, next);
        this.#changed(reached, folder, now);
      }
      if (next.kind === "file") {
        throw new FileFailure(path, operation === "mkdir" && reached === keyOf(path) ? "EEXIST" : "ENOTDIR", operation);
      }
      folder = next;
    }
    return folder;
  }
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function keyOf(path: string): string {
  return `/${segmentsOf(path).join("/")}`;
}

function folderOf(path: string): string {
  return `/${segmentsOf(path).slice(0, -1).join("/")}`;
}

function nameOf(path: string): string {
  return segmentsOf(path).at(-1) ?? "";
}
