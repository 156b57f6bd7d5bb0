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
 * Files of a folder as a whole. All of it is done at once, without that anything else of this process has its turn: for thousands of
 * small files, which nobody may change meanwhile.
 */
export interface TreeEntry {
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly mode: number;
  /** Null: a folder. */
  readonly bytes: number | null;
  /** It takes less room than it has bytes: holes, which read as zeros. */
  readonly isSparse: boolean;
}

/** A stretch of a file that has bytes of its own: where it begins, and how long it is. */
export type Extent = readonly [offset: number, bytes: number];

/** Bytes that are read at a time. */
const PART = 1024 * 1024;

/** Bytes of a block, as `stat` counts them. */
const BLOCK = 512;

/** Everything below a folder, each folder before what is in it. @param isSkipped of a relative path, with all below it */
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

/** The stretches of a sparse file that are not zero. */
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

/** Reads stretches of a file, in parts. */
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

/** Writes a file in parts; it is not there before all of it is. @param onDisk it outlives a loss of power, too */
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

/** Writes stretches of a file of so many bytes; the rest of it is holes. */
export function writeSparse(
  path: string,
  { bytes, mode, extents }: { readonly bytes: number; readonly mode: number; readonly extents: readonly Extent[] },
  parts: Iterable<Uint8Array>,
): void {
  withFile(
    path,
    // ext4 writes a file that was truncated, even an empty one, to the disk when it is closed.
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

/** Whether a file has just these bytes. */
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

/** The digest of the first bytes of a file. */
export function sha256Of(path: string, bytes: number): string {
  const hash = createHash("sha256");
  for (const part of partsIn(path, [[0, bytes]])) {
    hash.update(part);
  }
  return hash.digest("hex");
}

/** All of a file. */
export function readEntireFile(path: string): Buffer {
  return readFileSync(path);
}

/** A digest to which parts are added. */
export function sha256(): { update(part: Uint8Array): void; hex(): string } {
  const hash = createHash("sha256");
  return { update: (part) => void hash.update(part), hex: () => hash.digest("hex") };
}

/** Undefined: there is nothing of this name. */
export function kindOf(path: string): "file" | "folder" | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : found.isDirectory() ? "folder" : "file";
}

/** Undefined: there is no such file. */
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

/** To a folder that is there; what is at its new place is replaced. */
export function move(from: string, to: string): void {
  renameSync(from, to);
}

/** A file, or a folder whose entries were removed before; one that has others goes with them. */
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

/** Shorter where the file ends. */
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

/** As many entries of a kind are kept at most. */
const MAX_ENTRIES = 10_000;

/** Modes without which another user than root can neither empty nor move them. */
const OWN: Readonly<Record<Kind, number>> = { file: 0o600, folder: 0o700 };

/**
 * Files and folders that were taken away, emptied, for those that are made later. A file system such as ext4 gives none of the inodes
 * again that were deleted in the last minutes, and looks at all of them for each new file: thousands of files that go and come again
 * take seconds of the kernel's time, and next to nothing when they are moved.
 */
export class ReusableEntries {
  readonly #folder: string;
  readonly #names: Record<Kind, string[]>;

  /** @param folder of the same file system, for these alone; others may not use what goes to it any more */
  constructor(folder: string) {
    this.#folder = folder;
    this.#names = { file: this.#list("file"), folder: this.#list("folder") };
  }

  /** Takes away a file, or a folder whose entries were taken away before; one that has others goes with them. */
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
    // No two entries that exist have the same inode.
    const name = String(found.ino);
    renameSync(path, this.#path(kind, name));
    names.push(name);
  }

  /** The path of a file to be written, and then moved; undefined: there is none. */
  file(): string | undefined {
    const name = this.#names.file.pop();
    return name === undefined ? undefined : this.#path("file", name);
  }

  /** Puts an empty folder at this path, where nothing is; its mode is anyone's guess. Where there is none, nothing is done. */
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
