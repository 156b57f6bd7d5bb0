import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { ClusterError } from "../../control-plane/cluster-error.js";
import type { ComponentStatus } from "../../control-plane/local/component.js";
import { LastingChildren } from "../../control-plane/local/lasting-children.js";
import { ensureUsable, readClusterInfo, type StateDir, stateDir } from "../../control-plane/local/state-dir.js";
import { Supervisor } from "../../control-plane/local/supervisor.js";
import { finishInterruptedRestore } from "../../control-plane/snapshot/restore.js";
import { forgetDownHosts, readDownHosts } from "../../control-plane/snapshot/saved-state.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { nodeClock, nodeTimers } from "../../runtime/node/node-builtins.js";
import { nodeDigests } from "../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { NodePrograms, nodeChildren, nodeProcesses } from "../../runtime/node/node-processes.js";
import { Batcher } from "../../runtime/task-queue.js";
import { checkAgents } from "../agent/load-config.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { interruptSignal } from "../ui/process-lifecycle.js";
import { StatusLines } from "../ui/status-lines.js";
import type { Terminal } from "../ui/terminal.js";
import { leaveStarter, reportToStarter } from "./detached.js";
import type { FileFlags } from "./file/cluster-changes.js";
import { prepareCluster } from "./file/prepare-cluster.js";
import { type ClusterDescription, readClusterFile } from "./file/read-cluster-file.js";
import { keepFlags } from "./file/up-flags.js";
import { CONTROL_PLANE, HostSettingsStore, readAddition, withBoundDrivers } from "./host-settings.js";
import { listenWarnings } from "./listen.js";
import { programPath } from "./own-programs.js";
import { knownClusters } from "./place.js";
import { describeScenario } from "./scenario/read-scenario.js";
import { putInPlace, type StateToRestore, stateToRestore } from "./snapshot/cluster-restore.js";
import { agentArguments, hostArguments, morePlans, settingsOf, type UpOptions, upChildren } from "./up-children.js";
import { CoalescedWork, leaveOut, reopen, UpHosts } from "./up-hosts.js";
import { completeStartup } from "./up-started.js";

/** Milliseconds between two checks whether the owner is alive. */
const OWNER_POLL_INTERVAL_MS = 500;

/** Milliseconds within which component states are batched for the process that waits for a detached start. */
const STARTER_EVERY = 100;

/**
 * Starts all components, and waits until the cluster is to stop.
 * @param owner pid of the process whose end stops the cluster, however that process ends
 * @returns the exit code
 */
export async function runUp(
  options: UpOptions & FileFlags,
  providedOptions: ReadonlySet<string>,
  terminal: Terminal,
  owner?: number,
): Promise<number> {
  const children = new LastingChildren(nodeChildren(), nodeTimers());
  // A second Ctrl-C ends this process at once, and thereby its children.
  const over = new AbortController();
  const interrupt =
    owner === undefined ? interruptSignal() : AbortSignal.any([interruptSignal(), endOf(owner, terminal, over.signal)]);
  const place = { providedOptions, terminal, interrupt, children };
  try {
    let end = await upOnce(options, { ...place, isRestored: false });
    // After a restore the hosts are those of the restored state.
    const { hosts: _hosts, releases: _releases, ...others } = options;
    while (typeof end !== "number") {
      end = await upOnce({ ...others, ...(await putInPlace(end)) }, { ...place, isRestored: true });
    }
    return end;
  } finally {
    over.abort();
    await children.end();
  }
}

/**
 * Returns a signal that aborts when a process has ended, also by `kill -9`.
 * @param over ends the watch
 */
function endOf(pid: number, terminal: Terminal, over: AbortSignal): AbortSignal {
  const programs = new NodePrograms();
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    const owner = await programs.look(pid);
    // Systems without /proc cannot identify a process beyond its pid.
    const isAlive = async (): Promise<boolean> =>
      owner === undefined ? nodeProcesses().isAlive(pid) : (await programs.look(pid))?.started === owner.started;
    while (await isAlive()) {
      await nodeTimers().sleep(OWNER_POLL_INTERVAL_MS, over);
    }
    terminal.complain(`compute-agent: process ${pid}, which started this cluster, has ended; stopping the cluster`);
    ended.abort();
  };
  watch().catch((error: unknown) => {
    if (!over.aborted) {
      terminal.complain(`compute-agent: warning: process ${pid} cannot be watched: ${errorMessage(error)}`);
    }
  });
  return ended.signal;
}

/**
 * Checks that no cluster runs in the directory. Its database would reject another control plane, but not say where the
 * cluster is.
 * @throws {CommandError}
 */
async function requireStopped(files: NodeFiles, directory: StateDir): Promise<void> {
  const info = await readClusterInfo(files, directory);
  const { machine, isAlive } = nodeProcesses();
  if (info === undefined || info.machine !== machine || !isAlive(info.pid)) {
    return;
  }
  // Rarely needed, and it loads an HTTP client.
  const [{ clusterState }, { withRuntime }] = await Promise.all([
    import("./cluster-state.js"),
    import("./cluster-command.js"),
  ]);
  const { state, url, pid } = await withRuntime((runtime) => clusterState(directory.root, runtime));
  if (state === "running") {
    throw new CommandError(
      ExitCode.usage,
      `a cluster already runs in ${directory.root}: its control plane is ${url} (pid ${pid}). Stop it with "compute-agent down", ` +
        'or start another with "compute-agent up --name NAME --port 0"',
    );
  }
}

interface UpPlace {
  readonly providedOptions: ReadonlySet<string>;
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  /** Outlives a run of the cluster that ends with a restore. */
  readonly children: LastingChildren;
  /** Whether this run continues from a saved state, which already includes the file and the original start. */
  readonly isRestored: boolean;
}

/** Runs the cluster once. @returns the exit code, or the state to restore before the next run */
async function upOnce(
  { file, scenario, check, yes, ...flags }: UpOptions & FileFlags,
  { providedOptions, terminal, interrupt, children, isRestored }: UpPlace,
): Promise<number | StateToRestore> {
  const files = new NodeFiles();
  let restore: StateToRestore | undefined;
  const down = new AbortController();
  const over = new AbortController();
  const shutdownRequested = new Promise<"told">((resolve) => {
    for (const signal of [interrupt, down.signal]) {
      // Removed at the end of this run, since `interrupt` is shared by all runs and must not retain its data.
      signal.addEventListener("abort", () => resolve("told"), { signal: over.signal });
    }
  });
  const described = await describeCluster({ file, scenario }, { options: flags, providedOptions }, isRestored);
  const options = described?.options ?? flags;
  const directory = stateDir(options.stateDir, process.cwd());
  if (check !== true) {
    await ensureUsable(files, directory);
    if (!isRestored) {
      await requireStopped(files, directory);
    }
    await finishInterruptedRestore(directory, files);
  }
  const settingsStore = new HostSettingsStore(files, directory);
  const before = await withBoundDrivers(files, directory, await settingsStore.read());
  const settings = settingsOf(options, before, (path) => resolve(path));
  const warn = (warning: string) => terminal.complain(`compute-agent: warning: ${warning}`);
  for (const warning of listenWarnings(options)) {
    warn(warning);
  }
  const common = ["--state-dir", directory.root, ...agentArguments(options)];
  for (const warning of await checkAgents(
    [...settings.values()].map((setting) => [...common, ...hostArguments(setting)]),
  )) {
    warn(warning);
  }
  if (described !== undefined && !isRestored) {
    const end = await prepareCluster(described, { directory, before, check, yes, terminal, interrupt });
    if (end !== undefined) {
      return end;
    }
  }
  if (interrupt.aborted) {
    return ExitCode.ok;
  }
  const downHosts = await readDownHosts(directory, files);
  const lines = new StatusLines(terminal, nodeTimers());
  const toStarter = new Batcher(nodeTimers(), STARTER_EVERY, (statuses: readonly ComponentStatus[]) => {
    // The starter displays only the last status of each component.
    for (const status of new Map(statuses.map((status) => [status.name, status])).values()) {
      reportToStarter({ type: "up-status", status });
    }
  });
  let isSaved = false;
  const reopened = new CoalescedWork((started: readonly string[]) => reopen(started, directory));
  const hosts: UpHosts = new UpHosts({
    pid: process.pid,
    onDown: () => down.abort(),
    onRestore: async (name, startHosts) => {
      restore = await stateToRestore(name, directory, startHosts);
    },
    settingsStore,
    supervisor: () => supervisor,
    plansOf: (added) => morePlans(added, { options, settings, directory, supervisor, cores: availableParallelism() }),
    readAddition: (id) => readAddition(files, directory, id),
    onStarted: (host) => reopened.add(host),
  });
  const supervisor: Supervisor = new Supervisor({
    ...upChildren(options, directory, settings, availableParallelism()),
    directory,
    down: downHosts,
    programs: { cluster: programPath("compute-cluster"), agent: programPath("compute-agent") },
    onStatus: (status) => {
      lines.update(status);
      toStarter.add(status);
      const setting = settings.get(CONTROL_PLANE);
      // Saved only at the first start: a restarted control plane must not undo the hosts that operators added and removed
      // since.
      if (status.name === CONTROL_PLANE && status.state === "ready" && setting !== undefined && !isSaved) {
        isSaved = true;
        Promise.all([
          settingsStore.keep(CONTROL_PLANE, setting),
          keepFlags(options, directory, files),
          knownClusters().remember(directory),
        ]).catch((error: unknown) => warn(String(error)));
      }
    },
    onServing: (host) => {
      const setting = settings.get(host);
      if (setting !== undefined) {
        settingsStore.keep(host, setting).catch((error: unknown) => warn(String(error)));
      }
    },
    onMessage: (message) => void hosts.take(message),
    children,
    timers: nodeTimers(),
    clock: nodeClock(),
  });
  const prepare = async (): Promise<void> => {
    if (settingsStore.hosts.length === 0) {
      return;
    }
    // The removal of hosts that the file omits has been confirmed.
    const remove = options.named === undefined ? options.remove : true;
    const place = { settingsStore, directory, remove };
    const started = [...settings.keys()].filter((host) => !downHosts.has(host));
    const messages = await leaveOut(hosts.idle, started, place).catch((error: unknown) => [String(error)]);
    if (messages.length > 0) {
      lines.pause();
      terminal.print(messages.join("\n"));
    }
  };
  const running = supervisor.start(prepare).then(async () => {
    const { url } = supervisor;
    if (supervisor.isStopping || url === undefined) {
      return;
    }
    toStarter.flush();
    // All hosts have started, so idle processes from the state before are not needed.
    await children.end();
    await forgetDownHosts(directory, files);
    await completeStartup({
      options,
      scenario,
      described,
      isRestored,
      supervisor,
      url,
      settingsStore,
      settings,
      directory,
      lines,
      terminal,
      warn,
      interrupt,
      ended: over.signal,
      downHosts,
    });
    leaveStarter();
  });
  try {
    // A failed start ends the wait; a successful one does not.
    const end = await Promise.race([
      shutdownRequested,
      supervisor.controlPlaneEnded(),
      running.then(() => shutdownRequested),
    ]);
    if (end === "told") {
      return interrupt.aborted ? ExitCode.ok : (restore ?? ExitCode.ok);
    }
    terminal.complain(`compute-agent: the control plane ended: ${end.detail}`);
    return end.exitCode ?? ExitCode.failure;
  } finally {
    over.abort();
    await (restore === undefined || interrupt.aborted ? supervisor.stop() : supervisor.rest());
    await running.catch(() => undefined);
    toStarter.flush();
    lines.end();
  }
}

/**
 * Returns the description in the requested file or scenario; undefined if neither was requested.
 * @param mayBeThere whether a scenario's cluster may already exist.
 * @throws {CommandError}
 * @throws {ClusterError} `SeedRefused`
 */
async function describeCluster(
  { file, scenario }: Pick<FileFlags, "file" | "scenario">,
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  mayBeThere: boolean,
): Promise<ClusterDescription | undefined> {
  const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() };
  if (scenario === undefined) {
    return file === undefined ? undefined : readClusterFile(file, flags, deps);
  }
  const { described } = await describeScenario(scenario, flags, deps);
  const { database, root } = stateDir(described.options.stateDir, deps.cwd);
  if (!mayBeThere && (await deps.files.stat(database)) !== undefined) {
    throw new ClusterError(
      "SeedRefused",
      `${root} has a cluster, but a scenario needs a new one; choose another --name or --state-dir, ` +
        `or play it in a running cluster: compute-agent scenario run ${scenario}`,
    );
  }
  return described;
}
