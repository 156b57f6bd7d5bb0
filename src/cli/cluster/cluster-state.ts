import { type ClusterInfo, clientEnvironment, readClusterInfo, stateDir } from "../../control-plane/local/state-dir.js";
import type { Runtime } from "../../runtime/runtime.js";
import { nameOf } from "./place.js";

/** A cluster on this machine, as commands print it. */
export interface ClusterState {
  /** Null if the cluster was started without a name. */
  readonly name: string | null;
  readonly state: "running" | "stopped";
  /** The last known address of the control plane; null if none ever started. */
  readonly url: string | null;
  /** The process id of the control plane; null if it is not running. */
  readonly pid: number | null;
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Timeout for the response of a running control plane, in milliseconds. */
const REPLY_TIMEOUT_MS = 2_000;
/** Milliseconds between two attempts when the process is alive but does not listen: it may be restoring a snapshot. */
const ASK_EVERY = 50;

type Deps = Pick<Runtime, "files" | "http" | "processes" | "timers" | "clock" | "programs">;

/**
 * Returns the state of a state directory's cluster. Verifies the response, since another program may have the pid or port of
 * a killed control plane.
 */
export async function clusterState(root: string, runtime: Deps): Promise<ClusterState> {
  const directory = stateDir(root, "/");
  const info = await readClusterInfo(runtime.files, directory);
  const isRunning = info !== undefined && (await runs(info, root, runtime));
  return {
    name: nameOf(root),
    state: isRunning ? "running" : "stopped",
    url: info?.url ?? null,
    pid: isRunning ? info.pid : null,
    stateDir: root,
    env: clientEnvironment(directory),
  };
}

async function runs(info: ClusterInfo, root: string, deps: Deps): Promise<boolean> {
  const { processes, programs, timers, clock } = deps;
  const isThere = () => info.machine === processes.machine && processes.isAlive(info.pid);
  const begin = clock.monotonic();
  while (isThere()) {
    if (await isResponding(info, deps)) {
      return true;
    }
    const argv = (await programs.look(info.pid))?.argv ?? [];
    if (!argv.includes("control-plane") || !argv.includes(root) || clock.monotonic() - begin >= REPLY_TIMEOUT_MS) {
      return false;
    }
    await timers.sleep(ASK_EVERY);
  }
  return false;
}

async function isResponding({ url }: ClusterInfo, { http, timers }: Deps): Promise<boolean> {
  const abort = new AbortController();
  const cancel = timers.after(REPLY_TIMEOUT_MS, () => abort.abort());
  try {
    const { status } = await http.request({ method: "GET", url: `${url}/identity/v3`, signal: abort.signal });
    return status < 500;
  } catch {
    return false;
  } finally {
    cancel();
  }
}
