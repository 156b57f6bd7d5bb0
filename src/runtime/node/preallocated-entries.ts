import { lstatSync, mkdirSync, readdirSync, renameSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { removeEntry } from "./file-tree.js";

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
