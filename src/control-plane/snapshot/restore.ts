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

/** What is to be done to the state directory, in this order. Each part of it may be done again. */
interface Plan {
  readonly remove: readonly { readonly path: string; readonly kind: "file" | "folder" }[];
  readonly folders: readonly { readonly path: string; readonly mode: number }[];
  /** Files, by their paths from the folder of the restore, and where they go. */
  readonly put: readonly { readonly name: string; readonly path: string }[];
  readonly modes: readonly { readonly path: string; readonly mode: number }[];
}

/** The end of the preparations: from here on the state is the new one, whoever dies. */
const PLAN = "plan.json";

/** Files of hosts and hypervisors that may name the state directory; others have their paths written at each start. */
const HAS_PATHS = /^(hosts\.json|up\.json|nova\.conf|agents\/.*|hypervisors\/.*\.(xml|json))$/;
/** Bytes that such a file has at most. */
const MAX_TEXT_BYTES = 1024 * 1024;

export interface RestoreOptions {
  /** The cluster's time of day, milliseconds since the epoch. */
  readonly now: number;
  /** The restored state outlives a loss of power. Default true. */
  readonly onDisk?: boolean;
  /** The next start starts all hosts; default: it leaves those down that were when the snapshot was saved. */
  readonly startHosts?: boolean;
}

/**
 * Makes a state directory that nobody uses what the snapshot has. Killed at any moment, it is what it was before or what the
 * snapshot has, once {@link finishRestore} was called. The heartbeats of its services are as old as they were when it was saved: a
 * service that was up then is up again.
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
 * Ends a restore that somebody has begun: what had not come to its plan is forgotten, the rest is done.
 * @internal for tests
 */
export function finishRestore(root: string): void {
  const folder = join(root, RESTORE);
  const planFile = join(folder, PLAN);
  const bytes = sizeOf(planFile);
  if (bytes !== undefined) {
    const text = Buffer.concat([...partsIn(planFile, [[0, bytes]])]).toString();
    carryOut(root, folder, JSON.parse(text) as Plan);
    // First of all: what is removed must not look like preparations without a plan that come to something else.
    removeTree(planFile);
  }
  removeTree(folder);
}

function carryOut(root: string, folder: string, plan: Plan): void {
  const reusableEntries = new ReusableEntries(join(root, REUSABLE_ENTRIES));
  // A folder comes before what is in it.
  for (const { path, kind } of plan.remove.toReversed()) {
    // What was put in its place before is of another kind.
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
    // Once it was put there, the other one has gone.
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
    // A process that has not ended yet may have mapped it: emptied, it would end that process.
    removeEntry(join(root, path), kind);
  } else {
    reusableEntries.take(join(root, path), kind);
  }
}

/** Writes what is other than it was, beside it. */
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
  // What was in the journal is in the database by now.
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
      // They belong to the state that goes.
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

/** Whether the file is there as the snapshot has it. */
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
  // What has only holes is the same when it is as long.
  return entry.extents.length === 0 && before.bytes === entry.bytes && isHole(before);
}

const isHole = ({ isSparse }: TreeEntry): boolean => isSparse;

function stage(path: string, snapshot: Snapshot, entry: SavedEntry, replaced: Buffer | undefined): void {
  const { bytes, mode } = entry;
  if (replaced === undefined) {
    writeSparse(path, { bytes: bytes ?? 0, mode, extents: extentsIn(entry) }, storedParts(snapshot, entry));
  } else {
    writeSparse(path, { bytes: replaced.length, mode, extents: [[0, replaced.length]] }, [replaced]);
  }
}

/** The text of a file with the path of this state directory in place of the snapshot's; undefined: it stays as it is. */
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
 * Makes the heartbeats as old as they were when the snapshot was saved, and takes away what lets those of another cluster in, and their
 * leases. Everything is in the one file afterwards.
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

/** Ends what a restore that died has begun, before anybody uses the state directory. @throws {DatabaseUnusable} one is under way */
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
