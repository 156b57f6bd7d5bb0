import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { SnapshotRejectedError } from "../../../control-plane/snapshot/snapshot-error.js";
import type { ObservedProcess } from "../../../runtime/programs.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Milliseconds that a cluster may stand: far less than a lease lives. */
const MAX_PAUSE_MS = 1_000;
/** What is left of them has to do for going on. */
const USED = 800;
/** Milliseconds in which a process that was told to stand does. */
const STANDS = 5;

/**
 * Does something while processes stand, and lets them go on. Who dies meanwhile leaves them standing for no longer than a second:
 * another program lets them go on then, and ends with this.
 * @param pids agents first: what they have not said yet nobody may have heard
 * A process that is suspended already stays so.
 * @param work is given what it calls now and then, and at its end, and the processes that there are, by pid @throws {SnapshotRejectedError} it took too long
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
      throw new SnapshotRejectedError(
        `the cluster would have had to stand for ${Math.round(passed)} ms, expected at most ${USED}: its state is too large to be saved while it runs; stop it with compute-cluster down, and save then`,
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
      // It would wake who is stopped by somebody else by then.
      await programs.signal(other, "SIGKILL");
    }
  }
}
