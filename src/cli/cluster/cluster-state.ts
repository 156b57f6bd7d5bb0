import { type ClusterInfo, clientEnvironment, readClusterInfo, stateDir } from "../../control-plane/local/state-dir.js";
import type { Runtime } from "../../runtime/runtime.js";
import { nameOf } from "./place.js";

/** A cluster of this machine, for people and scripts. */
export interface ClusterState {
  /** Null: it was started without. */
  readonly name: string | null;
  readonly state: "running" | "stopped";
  /** Where its control plane is, or was; null: none ever came up. */
  readonly url: string | null;
  /** The control plane's; null: it does not run. */
  readonly pid: number | null;
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Milliseconds that a control plane that runs may take to say so. */
const REPLY_TIMEOUT_MS = 2_000;
/** The same between two questions of one that is there, and does not listen: another state is being put in the place of its own. */
const ASK_EVERY = 50;

type Deps = Pick<Runtime, "files" | "http" | "processes" | "timers" | "clock" | "programs">;

/** What is known of the cluster of a state directory. Another program may have the pid or the port of one that was killed. */
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
