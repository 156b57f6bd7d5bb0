import type { Bytes } from "./http.js";

/**
 * Files of UTF-8 text and of bytes, by absolute path. Every method rejects with {@link FileFailure}; methods that write
 * a file create its folder.
 */
export interface Files {
  read(path: string): Promise<string>;
  /** Like {@link read}, but resolves to `undefined` if the file does not exist. */
  readIfPresent(path: string): Promise<string | undefined>;
  /**
   * Replaces a file atomically: a temporary file in the same folder, then rename. Creates parent folders. `mode`
   * defaults to 0o644. The text is synced to disk before the rename, so a power loss leaves either the old or the new
   * file, never a part.
   * `unseen`: a name that has no reader before this resolves, in an existing folder (else `ENOENT`). The file is
   * written under its final name directly. It is synced when this resolves, but a failure or kill before that may leave
   * a part.
   * `fleeting`: data that is worthless after a power loss. Not synced; a power loss may leave a part.
   */
  write(path: string, text: string, options?: WriteOptions): Promise<void>;
  /** Creates a file as atomically as {@link write}. Rejects with `EEXIST` if the file exists. */
  create(path: string, text: string, options?: { readonly mode?: number }): Promise<void>;
  /** Reads a file's bytes lazily. */
  readBytes(path: string): Promise<Bytes>;
  /**
   * Replaces a file as {@link write} does once all bytes have arrived, and returns their number. Errors of the stream
   * and the signal's reason are rethrown; the old file then remains.
   */
  writeBytes(
    path: string,
    bytes: Bytes,
    options?: { readonly mode?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<number>;
  /** Not atomic: a power loss may leave a part of the text. */
  append(path: string, text: string): Promise<void>;
  /** Creates a sparse file of `bytes` size. */
  truncate(path: string, bytes: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes files and folders, recursively. A missing path is not an error. */
  remove(path: string): Promise<void>;
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Returns the names in a folder, sorted; an empty list if the folder does not exist. */
  list(path: string): Promise<string[]>;
  stat(path: string): Promise<FileStat | undefined>;
  /**
   * Calls `listener` soon after any direct entry of the folder changes, with the changed names where they are known.
   * Changes may be merged. Returns a function that stops watching.
   * @throws {FileFailure} synchronously when the folder does not exist.
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

/** User-readable descriptions of system error codes. Other codes are printed as they are. */
const CODES: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it already exists",
  EIO: "I/O error of the disk",
  EISDIR: "it is a folder",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  ENOTEMPTY: "the folder is not empty",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
};
