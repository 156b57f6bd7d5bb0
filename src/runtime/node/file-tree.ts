import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

/**
 * Synchronous functions for complete folders with thousands of small files. They block the event loop, so that nothing
 * in this process changes the files meanwhile.
 */
export interface TreeEntry {
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly mode: number;
  /** Null for a folder. */
  readonly bytes: number | null;
  /** The file takes less disk space than its size: it has holes, which read as zeros. */
  readonly isSparse: boolean;
}

/** A range of a file that has allocated bytes. */
export type Extent = readonly [offset: number, bytes: number];

/** Bytes read at a time. */
const PART = 1024 * 1024;

/** Bytes per block in the counts of `stat`. */
const BLOCK = 512;

/**
 * Returns everything below a folder; each folder precedes its entries.
 * @param isSkipped excludes a relative path and everything below it
 */
export function treeOf(root: string, isSkipped: (path: string) => boolean, below = ""): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (isSkipped(path)) {
      continue;
    }
    if (entry.isDirectory()) {
      entries.push({ path, mode: statSync(join(root, path)).mode & 0o7777, bytes: null, isSparse: false });
      entries.push(...treeOf(root, isSkipped, path));
    } else if (entry.isFile()) {
      const { mode, size, blocks } = statSync(join(root, path));
      entries.push({ path, mode: mode & 0o7777, bytes: size, isSparse: blocks * BLOCK < size });
    }
  }
  return entries;
}

/** Returns the ranges of a sparse file that are not zero. */
export function extentsOf(path: string, bytes: number): readonly Extent[] {
  if (statSync(path).blocks === 0) {
    return [];
  }
  const zeros = Buffer.alloc(PART);
  const extents: Extent[] = [];
  withFile(path, "r", (file) => {
    for (let offset = 0; offset < bytes; offset += PART) {
      const part = partOf(file, offset, Math.min(PART, bytes - offset));
      if (!part.equals(zeros.subarray(0, part.length))) {
        extents.push([offset, part.length]);
      }
    }
  });
  return extents;
}

/** Reads ranges of a file, in parts. */
export function* partsIn(path: string, extents: readonly Extent[]): Generator<Buffer> {
  const file = openSync(path, "r");
  try {
    for (const [begin, bytes] of extents) {
      for (let offset = begin; offset < begin + bytes; offset += PART) {
        yield partOf(file, offset, Math.min(PART, begin + bytes - offset));
      }
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a file in parts and renames it into place when it is complete.
 * @param onDisk whether the file must survive a power loss
 */
export function writeFileAtomically(path: string, mode: number, parts: Iterable<Uint8Array>, onDisk = true): void {
  const unfinished = `${path}.unfinished`;
  mkdirSync(dirname(path), { recursive: true });
  rmSync(unfinished, { force: true });
  try {
    withFile(
      unfinished,
      "wx",
      (file) => {
        for (const part of parts) {
          writeAll(file, part);
        }
        if (onDisk) {
          fsyncSync(file);
        }
      },
      mode,
    );
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Writes ranges of a file of `bytes` size and leaves the rest as holes. */
export function writeSparse(
  path: string,
  { bytes, mode, extents }: { readonly bytes: number; readonly mode: number; readonly extents: readonly Extent[] },
  parts: Iterable<Uint8Array>,
): void {
  withFile(
    path,
    // On close, ext4 flushes a file that was truncated, even an empty one. Opening an empty file with "r+" avoids that.
    sizeOf(path) === 0 ? "r+" : "w",
    (file) => {
      if (extents.length !== 1 || extents[0]?.[1] !== bytes) {
        ftruncateSync(file, bytes);
      }
      fchmodSync(file, mode);
      const each = parts[Symbol.iterator]();
      for (const [begin, length] of extents) {
        for (let offset = begin; offset < begin + length; ) {
          const { value } = each.next() as { readonly value: Uint8Array };
          writeAll(file, value, offset);
          offset += value.length;
        }
      }
    },
    mode,
  );
}

/** Returns whether a file has exactly these bytes. */
export function isSame(path: string, bytes: number, parts: Iterable<Uint8Array>): boolean {
  return withFile(path, "r", (file) => {
    if (fstatSync(file).size !== bytes) {
      return false;
    }
    let offset = 0;
    for (const part of parts) {
      if (!partOf(file, offset, part.length).equals(part)) {
        return false;
      }
      offset += part.length;
    }
    return offset === bytes;
  });
}

/** Returns the digest of the first bytes of a file. */
export function sha256Of(path: string, bytes: number): string {
  const hash = createHash("sha256");
  for (const part of partsIn(path, [[0, bytes]])) {
    hash.update(part);
  }
  return hash.digest("hex");
}

export function readEntireFile(path: string): Buffer {
  return readFileSync(path);
}

/** Creates a digest that is updated in parts. */
export function sha256(): { update(part: Uint8Array): void; hex(): string } {
  const hash = createHash("sha256");
  return { update: (part) => void hash.update(part), hex: () => hash.digest("hex") };
}

/** Returns undefined if nothing exists at the path. */
export function kindOf(path: string): "file" | "folder" | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : found.isDirectory() ? "folder" : "file";
}

/** Returns undefined if the file does not exist. */
export function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

export function makeFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
}

export function changeMode(path: string, mode: number): void {
  chmodSync(path, mode);
}

/** Moves an entry to an existing folder and replaces what is at the target. */
export function move(from: string, to: string): void {
  renameSync(from, to);
}

/** Removes a file or an empty folder. A folder that still has entries is removed recursively. */
export function removeEntry(path: string, kind: "file" | "folder"): void {
  try {
    if (kind === "file") {
      unlinkSync(path);
    } else {
      rmdirSync(path);
    }
  } catch {
    rmSync(path, { recursive: true, force: true });
  }
}

export function removeTree(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

function withFile<T>(path: string, flags: string, work: (file: number) => T, mode?: number): T {
  const file = openSync(path, flags, mode);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, part: Uint8Array, position: number | null = null): void {
  for (let done = 0; done < part.length; ) {
    done += writeSync(file, part, done, part.length - done, position === null ? null : position + done);
  }
}

/** Returns fewer bytes at the end of the file. */
function partOf(file: number, offset: number, bytes: number): Buffer {
  const part = Buffer.allocUnsafe(bytes);
  let read = 0;
  while (read < bytes) {
    const more = readSync(file, part, read, bytes - read, offset + read);
    if (more === 0) {
      break;
    }
    read += more;
  }
  return part.subarray(0, read);
}

type Kind = "file" | "folder";

/** Max number of entries per kind. */
const MAX_ENTRIES = 10_000;

/** Permissions that any user but root needs to empty or move an entry. */
const OWN: Readonly<Record<Kind, number>> = { file: 0o600, folder: 0o700 };

/**
 * A pool of removed files and folders, emptied for reuse. A file system such as ext4 does not reuse inodes deleted in
 * the last minutes, but scans all of them for each new file. Deleting and recreating thousands of files takes seconds
 * of kernel time; moving them takes almost none.
 */
export class ReusableEntries {
  readonly #folder: string;
  readonly #names: Record<Kind, string[]>;

  /**
   * @param folder a folder of the same file system for this pool only; other code must no longer use entries moved to
   * it
   */
  constructor(folder: string) {
    this.#folder = folder;
    this.#names = { file: this.#list("file"), folder: this.#list("folder") };
  }

  /** Moves a file or an empty folder into the pool. A folder that still has entries is removed recursively instead. */
  take(path: string, kind: Kind): void {
    const names = this.#names[kind];
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      return;
    }
    const isOwn = (found.mode & OWN[kind]) === OWN[kind];
    const isPlain = kind === "file" ? found.isFile() && found.nlink === 1 : isOwn && readdirSync(path).length === 0;
    if (!isOwn || !isPlain || names.length >= MAX_ENTRIES) {
      removeEntry(path, kind);
      return;
    }
    if (kind === "file") {
      truncateSync(path);
    }
    // Inodes are unique among existing entries.
    const name = String(found.ino);
    renameSync(path, this.#path(kind, name));
    names.push(name);
  }

  /** Returns the path of an empty file to write and then move, or undefined if the pool has none. */
  file(): string | undefined {
    const name = this.#names.file.pop();
    return name === undefined ? undefined : this.#path("file", name);
  }

  /** Moves an empty folder of arbitrary mode to an unused path. Does nothing if the pool has none. */
  putFolder(path: string): void {
    const name = this.#names.folder.pop();
    if (name !== undefined) {
      renameSync(this.#path("folder", name), path);
    }
  }

  #list(kind: Kind): string[] {
    const folder = join(this.#folder, kind);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return readdirSync(folder);
  }

  #path(kind: Kind, name: string): string {
    return join(this.#folder, kind, name);
  }
}
