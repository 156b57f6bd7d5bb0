import { driverRecordPath, readDriverRecord } from "../../../agent/identity-file.js";
import type { HostRow } from "../../../conductor-client/methods/session.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { hostsWithState, readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { savedHosts, snapshotRejected } from "../../../control-plane/snapshot/saved-state.js";
import type { SnapshotMetadata } from "../../../control-plane/snapshot/snapshot-file.js";
import { assertSupportedDrivers, Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import type { ObservedProcess } from "../../../runtime/processes.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import { version } from "../../ui/command-line.js";
import { withOperatorSession } from "../operator-session.js";

/** Maximum number of files that are read concurrently. */
const CONCURRENT_READS = 32;

/** Maximum suspension of a cluster in milliseconds, far below the duration of a lease. */
const MAX_PAUSE_MS = 1_000;

/** Milliseconds after which the copy is given up; the rest of the suspension is reserved for resuming the processes. */
const USED = 800;

/** Milliseconds until SIGSTOP has taken effect. */
const STANDS = 5;

/** Maximum number of concurrent requests about hosts of other processes. */
const AT_A_TIME = 64;

/**
 * Saves the state of a running cluster, and the states of its hosts. Suspends its processes meanwhile, for at most a second.
 * @param name null: the state after a start
 * @throws {ClusterError} `SnapshotRefused`
 */
export async function saveRunning(
  name: string | null,
  place: { readonly directory: StateDir; readonly runtime: Runtime },
): Promise<void> {
  const { directory, runtime } = place;
  const { hosts, pids } = await withOperatorSession("snapshot-save", place, async (session) => {
    const all = await session.call("list_hosts", { host: null });
    return { hosts: all, pids: await pidsHere(all, session, runtime.processes.machine) };
  });
  const metadata = await readSnapshotMetadata(directory, runtime);
  assertSupportedDrivers(metadata.drivers);
  const snapshots = new Snapshots(directory, runtime.files);
  const controlPlane = (await readClusterInfo(runtime.files, directory))?.pid;
  await whilePaused(
    controlPlane === undefined ? pids : [...pids, controlPlane],
    { directory, runtime },
    (check, found) => {
      snapshots.save(name, { ...metadata, hosts: savedHosts(hosts, found) }, { check });
    },
  );
}

/**
 * Returns the processes on this machine that serve hosts. Pids of agents on other machines would mean unrelated processes
 * here.
 * @internal for tests
 */
export async function pidsHere(
  hosts: readonly Pick<HostRow, "host" | "pid" | "process">[],
  session: Pick<HostSession, "call">,
  machine: string,
): Promise<readonly number[]> {
  const pids = await mapConcurrently(hosts, AT_A_TIME, async ({ host, pid, process }) => {
    if (process !== "elsewhere") {
      return pid;
    }
    const holder = await session.call("host_lease_holder", { host });
    return holder?.machine === machine ? holder.pid : null;
  });
  return pids.filter((pid) => pid !== null);
}

/**
 * Runs `work` while processes are suspended, and resumes them. A helper program resumes them after a second if this process
 * dies, so they are never suspended for longer. Processes that were already suspended are not resumed.
 * @param pids agents first, so that no process receives only part of what they send
 * @param work receives a function to call regularly and at its end, and the running processes by pid
 * @throws {ClusterError} `SnapshotRefused` it took too long
 * @internal
 */
export async function whilePaused(
  pids: readonly number[],
  place: { readonly directory: StateDir; readonly runtime: Pick<Runtime, "programs" | "clock" | "timers"> },
  work: (check: () => void, found: ReadonlyMap<number, ObservedProcess>) => void,
): Promise<void> {
  const { runtime, directory } = place;
  const { programs, clock, timers } = runtime;
  const found = new Map<number, ObservedProcess>();
  for (const pid of new Set(pids)) {
    const observed = await programs.look(pid);
    if (observed !== undefined) {
      found.set(pid, observed);
    }
  }
  const processes = [...found.values()].filter(({ suspended }) => suspended !== true);
  const all = processes.map(({ pid }) => pid);
  const script = `sleep ${MAX_PAUSE_MS / 1000}; kill -CONT ${all.join(" ")}`;
  const other =
    all.length === 0
      ? undefined
      : await programs.start({ argv: ["/bin/sh", "-c", script], logFile: directory.log("snapshot") });
  const begin = clock.monotonic();
  const assertPauseWithinLimit = (): void => {
    const passed = clock.monotonic() - begin;
    if (all.length > 0 && passed > USED) {
      throw snapshotRejected(
        `the cluster would have been suspended for ${Math.round(passed)} ms, expected at most ${USED}: its state is too large to be saved while it runs; stop it with compute-agent down first`,
      );
    }
  };
  try {
    for (const process of processes) {
      await programs.signal(process, "SIGSTOP");
    }
    if (processes.length > 0) {
      await timers.sleep(STANDS);
    }
    work(assertPauseWithinLimit, found);
  } finally {
    for (const process of processes.toReversed()) {
      await programs.signal(process, "SIGCONT");
    }
    if (other !== undefined) {
      // Otherwise it would resume processes that something else has suspended since.
      await programs.signal(other, "SIGKILL");
    }
  }
}

/** Returns the metadata of a snapshot of the current state. A host that never served has no driver yet. */
export async function readSnapshotMetadata(
  directory: StateDir,
  { files, clock }: Pick<Runtime, "files" | "clock">,
): Promise<SnapshotMetadata> {
  const hosts = await hostsWithState(files, directory);
  const drivers = await mapConcurrently(hosts, CONCURRENT_READS, async (host) => {
    const recorded = await readDriverRecord(files, driverRecordPath(directory.agent(host), host)).catch(
      () => undefined,
    );
    return recorded === undefined ? [] : [[host, recorded.name] as const];
  });
  return {
    savedAt: clock.now(),
    program: version(),
    root: directory.root,
    drivers: Object.fromEntries(drivers.flat()),
  };
}
