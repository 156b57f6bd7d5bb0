import { join } from "node:path";
import type { HostProcess } from "../../conductor-client/methods/session.js";
import { foldHosts } from "../../records/host-names.js";
import { isObject } from "../../runtime/collections.js";
import type { Files } from "../../runtime/files.js";
import { type TreeEntry, treeOf } from "../../runtime/node/file-tree.js";
import { quoted } from "../identity/openrc.js";
import type { StateDir } from "../local/state-dir.js";

/** A snapshot cannot be used, or made; the message says why, and what to do. */
export class SnapshotRejectedError extends Error {
  override readonly name = "SnapshotRefused";
}

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

const SAVED_STATES = ["running", "killed", "stopped", "suspended"] as const;

type SavedHostState = (typeof SAVED_STATES)[number];

/** A host's agent and service when a snapshot was saved. */
interface SavedHost {
  /** `suspended`: its process was stopped, as by SIGSTOP. An agent that was starting, or had failed, was to run. */
  readonly state: SavedHostState;
  readonly forcedDown: boolean;
}

export type SavedHosts = Readonly<Record<string, SavedHost>>;

/** The state in which a host is left by a start with a restored state. */
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

/** What a snapshot needs to know of a host. */
export type HostToSave = Pick<HostProcess, "host" | "state" | "pid" | "process"> & {
  readonly service: { readonly forcedDown: boolean } | null;
};

/**
 * Returns the states of the hosts that a restore starts or leaves down. Agents that the cluster has not started are not among them.
 * @param processes the processes that there are, by pid
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
  // A process may have ended since it was said to serve.
  const found = processes.get(pid);
  return found === undefined ? "killed" : found.suspended === true ? "suspended" : "running";
}

/** Returns the hosts that a restore leaves down. A process cannot be suspended again as it was: a suspended host is killed. */
export function downHosts(hosts: SavedHosts = {}): DownHosts {
  return new Map(
    Object.entries(hosts).flatMap(([host, { state }]): [string, DownState][] =>
      state === "running" ? [] : [[host, state === "suspended" ? "killed" : state]],
    ),
  );
}

/** Says for a user which hosts a restore has left down, a line each; nothing where it has left none. @param where has a command find the cluster */
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
          `Killed: ${foldHosts(suspended)}, suspended when the state was saved; no process can be suspended again as it was.`,
        ]),
    ...(down === "" ? [] : [`To start again: compute-cluster host start ${quoted(down)}${where}`]),
  ];
}

/** Says in a few words how many hosts were in which state: `2 running, 1 killed, 1 forced down`; `-`: nothing is known of them. */
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
 * Returns the hosts that the next start leaves down, since a restore has put a state in place in which they are.
 * @throws {SnapshotRejectedError} nobody can say which
 */
export async function readDownHosts(directory: Pick<StateDir, "root">, files: Files): Promise<DownHosts> {
  const path = pathOf(directory);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return new Map();
  }
  const hosts = parse(text);
  if (hosts === undefined) {
    throw new SnapshotRejectedError(
      `${path}, which says which hosts a restore has left down, holds ${text.slice(0, 40)}, expected {"HOST": "killed"}; remove it, and all hosts are started`,
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

/** Returns what a snapshot says of hosts when it is saved while nothing runs, and a restore has left these down. */
export function savedDownHosts(hosts: DownHosts): SavedHosts {
  return Object.fromEntries([...hosts].map(([host, state]) => [host, { state, forcedDown: false }]));
}

/** What {@link readDownHosts} reads. */
export function downHostsFile(hosts: DownHosts): string {
  return `${JSON.stringify(Object.fromEntries(hosts), null, 2)}\n`;
}

/** The start has left them down: a later one starts all hosts. */
export async function forgetDownHosts(directory: Pick<StateDir, "root">, files: Files): Promise<void> {
  await files.remove(pathOf(directory));
}

/** The files of a state directory that a snapshot has. */
export function listSavedFiles(root: string): readonly TreeEntry[] {
  return treeOf(root, (path) => EXCLUDED_FILES.has(path) || UNFINISHED.test(path));
}
