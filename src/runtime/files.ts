import type { Bytes } from "./http.js";

/** Files of UTF-8 text and of bytes, by absolute path. Every method rejects with {@link FileFailure}; what writes a file creates its folder. */
export interface Files {
  read(path: string): Promise<string>;
  /** Like {@link read}, but `undefined` when there is no such file. */
  readIfPresent(path: string): Promise<string | undefined>;
  /**
   * Replaces atomically (temporary file in the same folder, then rename), parents created. `mode` default 0o644. The text is on the
   * disk before its name is: a machine that loses its power leaves what was there or all of it, never a part.
   * `unseen`: a name that nobody reads before this resolves, in a folder that is there (else `ENOENT`), so that the file is
   * written under it at once; it is on the disk then, but what fails or dies before may leave a part.
   * `fleeting`: what means nothing after a loss of power, which may leave a part of it: nobody waits for the disk.
   */
  write(path: string, text: string, options?: WriteOptions): Promise<void>;
  /** Creates, as a whole as {@link write} does; `EEXIST` when it is there. */
  create(path: string, text: string, options?: { readonly mode?: number }): Promise<void>;
  /** The bytes of a file, read as they are asked for. */
  readBytes(path: string): Promise<Bytes>;
  /**
   * Replaces as {@link write} does, once all bytes are there, and returns how many. What the stream throws, or the signal's
   * reason, is thrown, and leaves what was there.
   */
  writeBytes(
    path: string,
    bytes: Bytes,
    options?: { readonly mode?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<number>;
  /** A machine that loses its power may leave a part of the text. */
  append(path: string, text: string): Promise<void>;
  /** A sparse file of `bytes` size. */
  truncate(path: string, bytes: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Files and folders, recursively; absent is fine. */
  remove(path: string): Promise<void>;
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Names in a folder, sorted; an absent folder is empty. */
  list(path: string): Promise<string[]>;
  stat(path: string): Promise<FileStat | undefined>;
  /**
   * Calls `listener` soon after anything directly in the folder changes, with the names of what changed where they are known;
   * returns what stops it. Changes may be merged.
   * @throws {FileFailure} at once when the folder is absent.
   */
  watch(folder: string, listener: (names?: readonly string[]) => void): () => void;
}

export interface WriteOptions {
  readonly mode?: number;
  readonly unseen?: boolean;
  readonly fleeting?: boolean;
}

export interface FileStat {
  readonly kind: "file" | "folder" | "other";
  readonly bytes: number;
  /** Modification time in milliseconds since the epoch. */
  readonly modified: number;
  readonly mode: number;
}

export class FileFailure extends Error {
  override readonly name = "FileFailure";
  readonly path: string;
  /** `ENOENT`, `EEXIST`, `EACCES` … */
  readonly code: string;

  constructor(path: string, code: string, operation: string, options?: ErrorOptions) {
    const words = CODES[code];
    super(`cannot ${operation} ${path}: ${words === undefined ? code : `${words} (${code})`}`, options);
    this.path = path;
    this.code = code;
  }
}

/** What the system's codes mean, for a person; others speak for themselves. */
const CODES: Readonly<Record<string, string>> = {
  EACCES: "this user has no right to",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it is there already",
  EIO: "the disk failed",
  EISDIR: "it is a folder",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  ENOTEMPTY: "the folder is not empty",
  EPERM: "the system does not allow it",
  EROFS: "the file system is read-only",
};
