import { join } from "node:path";
import type { HostProcess } from "../../conductor-client/methods/session.js";
import { foldHosts } from "../../records/host-names.js";
import { isObject } from "../../runtime/collections.js";
import type { Files } from "../../runtime/files.js";
import { type TreeEntry, treeOf } from "../../runtime/node/file-tree.js";
import { ClusterError } from "../cluster-error.js";
import { quoted } from "../identity/openrc.js";
import type { StateDir } from "../local/state-dir.js";

/** A snapshot cannot be used or saved. @param message contains the reason and what to do */
export function snapshotRejected(message: string): ClusterError {
  return new ClusterError("SnapshotRefused", message);
}

export const DATABASE = "state.sqlite";

export const JOURNAL = `${DATABASE}-wal`;

/** The folder of snapshots, in the state directory. */
export const SNAPSHOTS = "snapshots";

/**
 * The folder with removed entries that later restores reuse. It is among the snapshots, which a snapshot does not
 * contain.
 */
export const REUSABLE_ENTRIES = `${SNAPSHOTS}/.spare`;

/** Lists the hosts that the next start after a restore does not start. A snapshot has this in its metadata. */
export const DOWN_HOSTS = "down-hosts.json";

/** The folder of staged files while a restore is running. */
export const RESTORE = "restore-under-way";

/**
 * Files that belong to a running cluster or to this machine. Snapshots neither contain nor remove them. The join token
 * is excluded because agents on other machines have it.
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

/** Temporary files of killed writers. */
const UNFINISHED = /(^|\/)\..+\.[0-9a-f]{12}\.tmp$|^\.trial$/;

const SAVED_STATES = ["running", "killed", "stopped", "suspended"] as const;

type SavedHostState = (typeof SAVED_STATES)[number];

/** The state of a host's agent and service when a snapshot was saved. */
interface SavedHost {
  /**
   * `suspended`: its process was stopped, as by SIGSTOP. An agent that was starting or had failed counts as running.
   */
  readonly state: SavedHostState;
  readonly forcedDown: boolean;
}

export type SavedHosts = Readonly<Record<string, SavedHost>>;

/** The state of a host that is not started after a restore. */
export type DownState = "killed" | "stopped";

export type DownHosts = ReadonlyMap<string, DownState>;

export function isSavedHosts(value: unknown): value is SavedHosts {
  return (
    isObject(value) &&
    Object.values(value).every(
      (host) =>
        isObject(host) && SAVED_STATES.some((state) => state === host.state) && typeof host.forcedDown === "boolean",
    )
  );
}

/** The attributes of a host that a snapshot needs. */
export type HostToSave = Pick<HostProcess, "host" | "state" | "pid" | "process"> & {
  readonly service: { readonly forcedDown: boolean } | null;
};

/**
 * Returns the hosts that a restore starts or leaves down. Excludes agents that the cluster did not start.
 * @param processes all processes by pid
 */
export function savedHosts(
  rows: readonly HostToSave[],
  processes: ReadonlyMap<number, { readonly suspended?: true }>,
): SavedHosts {
  const own = rows.filter(({ process }) => process !== null && process !== "elsewhere");
  return Object.fromEntries(
    own.map((row) => [row.host, { state: stateOf(row, processes), forcedDown: row.service?.forcedDown === true }]),
  );
}

function stateOf(
  { state, pid }: HostToSave,
  processes: ReadonlyMap<number, { readonly suspended?: true }>,
): SavedHostState {
  if (state === "killed" || state === "stopped") {
    return state;
  }
  if (state === "stopping") {
    return "stopped";
  }
  if (pid === null) {
    return "running";
  }
  // The process may have ended since it was reported as serving.
  const found = processes.get(pid);
  return found === undefined ? "killed" : found.suspended === true ? "suspended" : "running";
}

/**
 * Returns the hosts that a restore leaves down. A suspended process cannot be recreated as such, so its host counts as
 * killed.
 */
export function downHosts(hosts: SavedHosts = {}): DownHosts {
  return new Map(
    Object.entries(hosts).flatMap(([host, { state }]): [string, DownState][] =>
      state === "running" ? [] : [[host, state === "suspended" ? "killed" : state]],
    ),
  );
}

/**
 * Formats, for users, the hosts that a restore has left down, as lines; none if all are up.
 * @param where the arguments by which a command finds the cluster
 */
export function downHostsText(hosts: SavedHosts = {}, where: string): readonly string[] {
  const named = (state: SavedHostState) =>
    Object.entries(hosts).flatMap(([host, saved]) => (saved.state === state ? [host] : []));
  const [killed, stopped, suspended] = [named("killed"), named("stopped"), named("suspended")];
  const down = foldHosts([...killed, ...stopped, ...suspended]);
  const asSaved = [
    ...(killed.length === 0 ? [] : [`${foldHosts(killed)} killed`]),
    ...(stopped.length === 0 ? [] : [`${foldHosts(stopped)} stopped`]),
  ];
  return [
    ...(asSaved.length === 0 ? [] : [`Left down, as when the state was saved: ${asSaved.join(", ")}.`]),
    ...(suspended.length === 0
      ? []
      : [
          `Killed: ${foldHosts(suspended)}, which were suspended when the state was saved; a restore cannot suspend processes.`,
        ]),
    ...(down === "" ? [] : [`To start again: compute-agent host start ${quoted(down)}${where}`]),
  ];
}

/** Formats the number of hosts in each state: `2 running, 1 killed, 1 forced down`; `-`: unknown. */
export function savedHostsSummary(hosts: SavedHosts | undefined): string {
  const all = Object.values(hosts ?? {});
  const counts = [
    ...SAVED_STATES.map((state) => [all.filter((host) => host.state === state).length, state] as const),
    [all.filter(({ forcedDown }) => forcedDown).length, "forced down"] as const,
  ];
  const parts = counts.filter(([count]) => count > 0).map(([count, state]) => `${count} ${state}`);
  return parts.length === 0 ? "-" : parts.join(", ");
}

const pathOf = ({ root }: Pick<StateDir, "root">): string => join(root, DOWN_HOSTS);

/**
 * Returns the hosts that the next start leaves down after a restore.
 * @throws {ClusterError} `SnapshotRefused` if the list is unreadable
 */
export async function readDownHosts(directory: Pick<StateDir, "root">, files: Files): Promise<DownHosts> {
  const path = pathOf(directory);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return new Map();
  }
  const hosts = parse(text);
  if (hosts === undefined) {
    throw snapshotRejected(
      `${path}, the list of hosts that a restore has left down, contains ${text.slice(0, 40)}, expected {"HOST": "killed"}; remove it to start all hosts`,
    );
  }
  return new Map(Object.entries(hosts));
}

function parse(text: string): Readonly<Record<string, DownState>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isDown = (state: unknown) => state === "killed" || state === "stopped";
    return isObject(value) && Object.values(value).every(isDown) ? (value as Record<string, DownState>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the metadata of hosts for a snapshot that is saved while the cluster is stopped, after a restore has left
 * these hosts down.
 */
export function savedDownHosts(hosts: DownHosts): SavedHosts {
  return Object.fromEntries([...hosts].map(([host, state]) => [host, { state, forcedDown: false }]));
}

/** Serializes the hosts for {@link readDownHosts}. */
export function downHostsFile(hosts: DownHosts): string {
  return `${JSON.stringify(Object.fromEntries(hosts), null, 2)}\n`;
}

/** Deletes the list after a start, so that later starts start all hosts. */
export async function forgetDownHosts(directory: Pick<StateDir, "root">, files: Files): Promise<void> {
  await files.remove(pathOf(directory));
}

/** Lists the files and folders of a state directory that a snapshot includes. */
export function listSavedFiles(root: string): readonly TreeEntry[] {
  return treeOf(root, (path) => EXCLUDED_FILES.has(path) || UNFINISHED.test(path));
}
