import { join, relative } from "node:path";
import type { Files } from "../../runtime/files.js";
import {
  changeMode,
  isSame,
  kindOf,
  makeFolder,
  move,
  partsIn,
  ReusableEntries,
  removeEntry,
  removeTree,
  sizeOf,
  type TreeEntry,
  writeFileAtomically,
  writeSparse,
} from "../../runtime/node/file-tree.js";
import { DatabaseFile } from "../database/database-file.js";
import type { StateDir } from "../local/state-dir.js";
import { ownStore } from "../store/open-store.js";
import {
  DATABASE,
  DOWN_HOSTS,
  type DownHosts,
  downHosts,
  downHostsFile,
  JOURNAL,
  listSavedFiles,
  RESTORE,
  REUSABLE_ENTRIES,
} from "./saved-state.js";
import { extentsIn, type SavedEntry, type Snapshot, type SnapshotMetadata, storedParts } from "./snapshot-file.js";

/** The changes of the state directory, in this order. Each can be repeated. */
interface Plan {
  readonly remove: readonly { readonly path: string; readonly kind: "file" | "folder" }[];
  readonly folders: readonly { readonly path: string; readonly mode: number }[];
  /** Staged files: paths relative to the folder of the restore, and destinations. */
  readonly put: readonly { readonly name: string; readonly path: string }[];
  readonly modes: readonly { readonly path: string; readonly mode: number }[];
}

/** Written when the preparations are complete. If the restore is killed after this, the next start finishes it. */
const PLAN = "plan.json";

/**
 * Files of hosts and hypervisors that may contain the path of the state directory. Other files with paths are rewritten
 * at each start.
 */
const HAS_PATHS = /^(hosts\.json|up\.json|nova\.conf|agents\/.*|hypervisors\/.*\.(xml|json))$/;
/** The max size of such a file in bytes. */
const MAX_TEXT_BYTES = 1024 * 1024;

export interface RestoreOptions {
  /** The cluster's time of day, milliseconds since the epoch. */
  readonly now: number;
  /** Whether the restored state survives a power failure. Default true. */
  readonly onDisk?: boolean;
  /**
   * Whether the next start starts all hosts. Default: it does not start those that were down when the snapshot was
   * saved.
   */
  readonly startHosts?: boolean;
}

/**
 * Restores a snapshot into a state directory that is not in use. If this is killed, {@link finishRestore} produces
 * either the former state or the snapshot's, never a mix.
 * Heartbeats become as old as they were when the snapshot was saved, so a service that was up then is up again.
 */
export function restoreSnapshot(root: string, snapshot: Snapshot, options: RestoreOptions): void {
  const { now, onDisk = true, startHosts = false } = options;
  finishRestore(root);
  const folder = join(root, RESTORE);
  makeFolder(folder, 0o700);
  const plan = prepare(root, folder, snapshot, {
    reusableEntries: new ReusableEntries(join(root, REUSABLE_ENTRIES)),
    now,
    onDisk,
    down: startHosts ? new Map() : downHosts(snapshot.metadata.hosts),
  });
  writeFileAtomically(join(folder, PLAN), 0o600, [Buffer.from(JSON.stringify(plan))], onDisk);
  finishRestore(root);
}

/**
 * Finishes an interrupted restore: without a complete plan it is discarded, otherwise it is completed.
 * @internal for tests
 */
export function finishRestore(root: string): void {
  const folder = join(root, RESTORE);
  const planFile = join(folder, PLAN);
  const bytes = sizeOf(planFile);
  if (bytes !== undefined) {
    const text = Buffer.concat([...partsIn(planFile, [[0, bytes]])]).toString();
    carryOut(root, folder, JSON.parse(text) as Plan);
    // Removed first: the next start discards a partly removed folder only if it has no plan.
    removeTree(planFile);
  }
  removeTree(folder);
}

function carryOut(root: string, folder: string, plan: Plan): void {
  const reusableEntries = new ReusableEntries(join(root, REUSABLE_ENTRIES));
  // A folder is listed before its contents.
  for (const { path, kind } of plan.remove.toReversed()) {
    // If the kind differs, the entry was already replaced by an earlier run.
    if (kindOf(join(root, path)) === kind) {
      takeAway(root, path, kind, reusableEntries);
    }
  }
  for (const { path, mode } of plan.folders) {
    if (kindOf(join(root, path)) === undefined) {
      reusableEntries.putFolder(join(root, path));
    }
    makeFolder(join(root, path), mode);
  }
  for (const { name, path } of plan.put) {
    // If it is not there, an earlier run has already moved it.
    if (kindOf(join(folder, name)) === "file") {
      takeAway(root, path, "file", reusableEntries);
      move(join(folder, name), join(root, path));
    }
  }
  for (const { path, mode } of plan.modes) {
    changeMode(join(root, path), mode);
  }
}

function takeAway(root: string, path: string, kind: "file" | "folder", reusableEntries: ReusableEntries): void {
  if (path.startsWith(DATABASE)) {
    // A process that has not exited yet may have mapped the file; truncating it would crash that process.
    removeEntry(join(root, path), kind);
  } else {
    reusableEntries.take(join(root, path), kind);
  }
}

/** Stages all files that differ. */
function prepare(
  root: string,
  folder: string,
  snapshot: Snapshot,
  {
    reusableEntries,
    now,
    onDisk,
    down,
  }: {
    readonly reusableEntries: ReusableEntries;
    readonly now: number;
    readonly onDisk: boolean;
    readonly down: DownHosts;
  },
): Plan {
  const before = new Map(listSavedFiles(root).map((entry) => [entry.path, entry]));
  const savedEntries = new Map(snapshot.entries.map((entry) => [entry.path, entry]));
  const put: { name: string; path: string }[] = [];
  for (const entry of snapshot.entries) {
    const isDatabase = entry.path === DATABASE || entry.path === JOURNAL;
    const replaced = rewritten(root, snapshot, entry);
    if (entry.bytes !== null && (isDatabase || !isThere(root, before.get(entry.path), snapshot, entry, replaced))) {
      const unused = isDatabase ? undefined : reusableEntries.file();
      const staged = unused ?? join(folder, isDatabase ? entry.path : String(put.length));
      stage(staged, snapshot, entry, replaced);
      put.push({ name: relative(folder, staged), path: entry.path });
    }
  }
  if (sizeOf(join(folder, DATABASE)) !== undefined) {
    changeDatabase(join(folder, DATABASE), snapshot.metadata, { now, onDisk });
  }
  // The database now contains the journal's changes.
  if (down.size > 0) {
    writeFileAtomically(join(folder, DOWN_HOSTS), 0o600, [Buffer.from(downHostsFile(down))], onDisk);
    put.push({ name: DOWN_HOSTS, path: DOWN_HOSTS });
  }
  const staged = put.filter(({ name }) => sizeOf(join(folder, name)) !== undefined);
  const remove = [...before.values()].filter(({ path, bytes }) => {
    const entry = savedEntries.get(path);
    return entry === undefined || (entry.bytes === null) !== (bytes === null);
  });
  const isPut = new Set(staged.map(({ path }) => path));
  return {
    remove: [
      ...remove.map(({ path, bytes }) => ({ path, kind: bytes === null ? ("folder" as const) : ("file" as const) })),
      // These belong to the replaced state.
      ...[`${DATABASE}-shm`, JOURNAL, DOWN_HOSTS]
        .filter((path) => !isPut.has(path))
        .map((path) => ({ path, kind: "file" as const })),
    ],
    folders: snapshot.entries
      .filter(({ path, mode, bytes }) => {
        const found = before.get(path);
        return bytes === null && (found?.bytes !== null || found.mode !== mode);
      })
      .map(({ path, mode }) => ({ path, mode })),
    put: staged,
    modes: snapshot.entries
      .filter(({ path, mode, bytes }) => bytes !== null && before.get(path)?.mode !== mode && !isPut.has(path))
      .map(({ path, mode }) => ({ path, mode })),
  };
}

/** Checks whether the file already has the content of the snapshot. */
function isThere(
  root: string,
  before: TreeEntry | undefined,
  snapshot: Snapshot,
  entry: SavedEntry,
  replaced: Buffer | undefined,
): boolean {
  if (before === undefined || before.bytes === null || entry.bytes === null) {
    return false;
  }
  const path = join(root, entry.path);
  if (replaced !== undefined) {
    return isSame(path, replaced.length, [replaced]);
  }
  if (entry.extents === undefined) {
    return before.bytes === entry.bytes && isSame(path, entry.bytes, storedParts(snapshot, entry));
  }
  // Files without data are equal if they have the same length.
  return entry.extents.length === 0 && before.bytes === entry.bytes && before.isSparse;
}

function stage(path: string, snapshot: Snapshot, entry: SavedEntry, replaced: Buffer | undefined): void {
  const { bytes, mode } = entry;
  if (replaced === undefined) {
    writeSparse(path, { bytes: bytes ?? 0, mode, extents: extentsIn(entry) }, storedParts(snapshot, entry));
  } else {
    writeSparse(path, { bytes: replaced.length, mode, extents: [[0, replaced.length]] }, [replaced]);
  }
}

/** Returns a file's content with the path of this state directory in place of the snapshot's; undefined: unchanged. */
function rewritten(root: string, snapshot: Snapshot, entry: SavedEntry): Buffer | undefined {
  const { path, bytes } = entry;
  const from = snapshot.metadata.root;
  if (from === root || bytes === null || bytes > MAX_TEXT_BYTES || !HAS_PATHS.test(path)) {
    return undefined;
  }
  const text = Buffer.concat([...storedParts(snapshot, entry)]);
  return text.includes(from) ? Buffer.from(text.toString().replaceAll(from, root)) : undefined;
}

/**
 * Makes heartbeats as old as they were when the snapshot was saved. Deletes tokens and leases of an imported snapshot,
 * since they belong to another cluster.
 * Afterwards the database file contains all changes, and the journal is empty.
 */
function changeDatabase(
  path: string,
  { savedAt, isImported }: SnapshotMetadata,
  { now, onDisk }: { readonly now: number; readonly onDisk: boolean },
): void {
  const database = new DatabaseFile(path, onDisk ? [] : ["PRAGMA synchronous = OFF"]);
  try {
    if (isImported === true) {
      database.exec("DELETE FROM identity_tokens");
      database.exec("DELETE FROM host_leases");
    }
    if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'services'").get() !== undefined) {
      const heartbeat = "last_seen_up = coalesce(last_seen_up, created_at) + ?";
      database.prepare(`UPDATE services SET ${heartbeat} WHERE deleted = 0`).run(Math.round(now - savedAt));
    }
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

/**
 * Finishes an interrupted restore before the state directory is used.
 * @throws {DatabaseUnusable} if a restore is still running
 */
export async function finishInterruptedRestore(
  { root, database }: Pick<StateDir, "root" | "database">,
  files: Files,
): Promise<void> {
  if (kindOf(join(root, RESTORE)) === undefined) {
    return;
  }
  const release = await ownStore(database, files);
  try {
    finishRestore(root);
  } finally {
    release();
  }
}
