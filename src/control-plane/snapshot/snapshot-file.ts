import { join } from "node:path";
import {
  type Extent,
  extentsOf,
  partsIn,
  readEntireFile,
  sha256,
  sha256Of,
  sizeOf,
  writeFileAtomically,
} from "../../runtime/node/file-tree.js";
import { isSavedHosts, listSavedFiles, type SavedHosts, snapshotRejected } from "./saved-state.js";

/** The version of the files that this program writes, and the newest that it reads. */
const VERSION = 1;

/** The first line of every snapshot, of any version. */
const MAGIC = "compute-agent snapshot";

/** The max size of the list of files in bytes; more than any cluster needs. */
const MAX_HEADER_BYTES = 512 * 1024 * 1024;

export interface SnapshotMetadata {
  /** Milliseconds since the epoch. */
  readonly savedAt: number;
  /** The version of the program that saved it. */
  readonly program: string;
  /** The state directory, whose path occurs in some of the files. */
  readonly root: string;
  /** The driver of each host. */
  readonly drivers: Readonly<Record<string, string>>;
  /**
   * The hosts whose agents the cluster started. Absent if an older program saved the snapshot, or the cluster was
   * stopped.
   */
  readonly hosts?: SavedHosts;
  /** Whether it was imported from another cluster. */
  readonly isImported?: boolean;
}

/** A file or folder in a snapshot. */
export interface SavedEntry {
  readonly path: string;
  readonly mode: number;
  /** The file's size; null for a folder. */
  readonly bytes: number | null;
  /** The stored extents, in order; absent: the complete file. */
  readonly extents?: readonly Extent[];
  /** The offset of the first stored byte in the snapshot. */
  readonly at: number;
}

/** A validated snapshot. */
export interface Snapshot {
  readonly path: string;
  readonly metadata: SnapshotMetadata;
  readonly entries: readonly SavedEntry[];
  readonly bytes: number;
  /** The complete content; undefined if it is large. */
  readonly content: Buffer | undefined;
}

/** The size in bytes up to which a snapshot is read into memory: most are small, with thousands of files. */
const LARGE = 64 * 1024 * 1024;

export interface SaveOptions {
  /** Whether it survives a power failure. Default true. */
  readonly onDisk?: boolean;
  /** Called before each file, and after all have been read. Its exceptions abort the save. */
  readonly check?: () => void;
}

interface Header {
  /** The metadata; the name is part of the file format. */
  readonly facts: SnapshotMetadata;
  readonly files: readonly Omit<SavedEntry, "at">[];
}

/**
 * Saves the files of a state directory that does not change meanwhile. An existing snapshot is replaced only when the
 * new one is complete.
 * The file is readable for this user only, since it contains passwords.
 */
export function saveSnapshot(root: string, path: string, metadata: SnapshotMetadata, options: SaveOptions = {}): void {
  const files = listSavedFiles(root).map(({ path: file, mode, bytes, isSparse }) => ({
    path: file,
    mode,
    bytes,
    ...(isSparse && bytes !== null ? { extents: extentsOf(join(root, file), bytes) } : {}),
  }));
  writeSnapshot(path, { facts: metadata, files }, (file) => partsIn(join(root, file.path), extentsIn(file)), options);
}

/**
 * Copies a snapshot with changed metadata.
 * @throws {ClusterError} `SnapshotRefused` if it is damaged
 */
export function copySnapshot(from: string, to: string, transform: (found: SnapshotMetadata) => SnapshotMetadata): void {
  const snapshot = readSnapshot(from);
  const files = snapshot.entries.map(({ at: _, ...file }) => file);
  const places = new Map(snapshot.entries.map((entry) => [entry.path, entry]));
  writeSnapshot(to, { facts: transform(snapshot.metadata), files }, ({ path }) => {
    const entry = places.get(path);
    return entry === undefined ? [] : storedParts(snapshot, entry);
  });
}

function writeSnapshot(
  path: string,
  header: Header,
  partsOf: (file: Header["files"][number]) => Iterable<Uint8Array>,
  { onDisk = true, check = () => undefined }: SaveOptions = {},
): void {
  const digest = sha256();
  function* parts(): Generator<Uint8Array> {
    yield Buffer.from(`${MAGIC} ${VERSION}\n${JSON.stringify(header)}\n`);
    for (const file of header.files) {
      check();
      if (file.bytes !== null) {
        yield* partsOf(file);
      }
    }
  }
  function* sealed(): Generator<Uint8Array> {
    for (const part of parts()) {
      digest.update(part);
      yield part;
    }
    check();
    yield Buffer.from(sealOf(digest.hex()));
  }
  writeFileAtomically(path, 0o600, sealed(), onDisk);
}

const sealOf = (hex: string): string => `\nsha256 ${hex}\n`;
const SEAL = sealOf("0".repeat(64)).length;

/** @throws {ClusterError} `SnapshotRefused` if it is not a snapshot, is of a newer program, or is truncated or modified */
export function readSnapshot(path: string): Snapshot {
  const bytes = sizeOf(path);
  if (bytes === undefined) {
    throw snapshotRejected(`snapshot ${path} does not exist; list all with compute-agent snapshot list`);
  }
  const { header, end } = readHeader(path, bytes);
  let at = end;
  const entries = header.files.map((file) => {
    const entry = { ...file, at };
    at += extentsIn(file).reduce((sum, [, length]) => sum + length, 0);
    return entry;
  });
  if (at + SEAL !== bytes) {
    const what = at + SEAL > bytes ? "it is truncated" : "data was appended";
    throw snapshotRejected(`${path} has ${bytes} bytes, expected ${at + SEAL}: ${what}; use another copy`);
  }
  const content = bytes <= LARGE ? readEntireFile(path) : undefined;
  const seal = content?.subarray(at).toString() ?? Buffer.concat([...partsIn(path, [[at, SEAL]])]).toString();
  if (seal !== sealOf(content === undefined ? sha256Of(path, at) : digestOf(content.subarray(0, at)))) {
    throw snapshotRejected(`${path} was modified after it was saved: its checksum does not match; use another copy`);
  }
  return { path, metadata: header.facts, entries, bytes, content };
}

function digestOf(content: Buffer): string {
  const digest = sha256();
  digest.update(content);
  return digest.hex();
}

/** Yields the stored bytes of a file, without its holes. */
export function storedParts(
  { path, content }: Pick<Snapshot, "path" | "content">,
  entry: SavedEntry,
): Iterable<Buffer> {
  let { at } = entry;
  const stretches = extentsIn(entry).map(([, bytes]): Extent => {
    at += bytes;
    return [at - bytes, bytes];
  });
  return content === undefined
    ? partsIn(path, stretches)
    : stretches.map(([begin, bytes]) => content.subarray(begin, begin + bytes));
}

/** Returns the stored extents of a file. */
export function extentsIn({ bytes, extents }: Pick<SavedEntry, "bytes" | "extents">): readonly Extent[] {
  return extents ?? (bytes === null || bytes === 0 ? [] : [[0, bytes]]);
}

function readHeader(path: string, bytes: number): { readonly header: Header; readonly end: number } {
  let text = Buffer.alloc(0);
  let lines = 0;
  let end = 0;
  for (const part of partsIn(path, [[0, Math.min(bytes, MAX_HEADER_BYTES)]])) {
    for (let at = part.indexOf(NEWLINE); at >= 0 && lines < 2; at = part.indexOf(NEWLINE, at + 1)) {
      lines += 1;
      end = text.length + at + 1;
    }
    text = Buffer.concat([text, part]);
    if (lines === 0 && text.length > MAGIC.length + 20) {
      break;
    }
    if (lines >= 2) {
      break;
    }
  }
  const head = text.subarray(0, lines >= 2 ? end : text.length).toString();
  const [, version] = new RegExp(`^${MAGIC} (\\d{1,6})\n`).exec(head) ?? [];
  if (version === undefined) {
    throw snapshotRejected(
      `${path} is not a snapshot: found ${JSON.stringify(head.slice(0, 30))}, expected "${MAGIC}"`,
    );
  }
  if (Number(version) > VERSION) {
    throw snapshotRejected(
      `${path} has version ${version}, but this program reads only versions up to ${VERSION}; use the program that saved it, or a newer one`,
    );
  }
  const header = parseHeader(head.slice(head.indexOf("\n") + 1));
  if (header === undefined || lines < 2) {
    throw snapshotRejected(`${path} is truncated or modified: its list of files cannot be read; use another copy`);
  }
  return { header, end };
}

const NEWLINE = 0x0a;

function parseHeader(text: string): Header | undefined {
  try {
    const header = JSON.parse(text) as Header;
    return isSnapshotMetadata(header.facts) && Array.isArray(header.files) && header.files.every(isEntry)
      ? header
      : undefined;
  } catch {
    return undefined;
  }
}

function isSnapshotMetadata(metadata: unknown): metadata is SnapshotMetadata {
  const { savedAt, program, root, drivers, hosts } = (metadata ?? {}) as Partial<SnapshotMetadata>;
  return (
    typeof savedAt === "number" &&
    typeof program === "string" &&
    typeof root === "string" &&
    typeof drivers === "object" &&
    drivers !== null &&
    (hosts === undefined || isSavedHosts(hosts))
  );
}

/** Checks that an entry is valid, so that a manipulated snapshot cannot write outside the state directory. */
function isEntry(entry: unknown): boolean {
  const { path, mode, bytes, extents = [] } = (entry ?? {}) as Partial<SavedEntry>;
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return (
    typeof path === "string" &&
    path !== "" &&
    !path.includes("\0") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    isCount(mode) &&
    mode <= 0o777 &&
    (bytes === null || isCount(bytes)) &&
    Array.isArray(extents) &&
    extents.every(
      (extent) =>
        Array.isArray(extent) && isCount(extent[0]) && isCount(extent[1]) && extent[0] + extent[1] <= (bytes ?? 0),
    )
  );
}
