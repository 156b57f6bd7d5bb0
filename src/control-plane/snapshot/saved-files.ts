import { type TreeEntry, treeOf } from "../../runtime/node/file-tree.js";

/** The state of record, in the state directory. */
export const DATABASE = "state.sqlite";
export const JOURNAL = `${DATABASE}-wal`;

/** Where snapshots are, in the state directory. */
export const SNAPSHOTS = "snapshots";
/** Where restores leave what they have taken away for those that come after them: among the snapshots, which no snapshot has. */
export const REUSABLE_ENTRIES = `${SNAPSHOTS}/.spare`;
/** Where a restore says which hosts the next start leaves down. Snapshots have that in their own list. */
export const DOWN_HOSTS = "down-hosts.json";
/** Where a restore that is under way keeps what it will put in place. */
export const RESTORE = "restore-under-way";

/**
 * What belongs to a running cluster, or to this machine, and not to its state: a snapshot neither has it nor takes it away. The join
 * token is what agents elsewhere have been given.
 */
const EXCLUDED_FILES = new Set([
  DOWN_HOSTS,
  ".gitignore",
  RESTORE,
  SNAPSHOTS,
  "additions",
  "cluster.json",
  "join-token",
  "join.conf",
  "logs",
  `${DATABASE}-shm`,
  `${DATABASE}.lock`,
  `${DATABASE}.lock-journal`,
  "tls",
]);

/** What a writer that was killed has left. */
const UNFINISHED = /(^|\/)\..+\.[0-9a-f]{12}\.tmp$|^\.trial$/;

/** The files of a state directory that a snapshot has. */
export function listSavedFiles(root: string): readonly TreeEntry[] {
  return treeOf(root, (path) => EXCLUDED_FILES.has(path) || UNFINISHED.test(path));
}
