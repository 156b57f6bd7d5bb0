import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { clusterState } from "../cli/cluster/cluster-state.js";
import { withOperatorSession } from "../cli/cluster/operator-session.js";
import { restoreRunning } from "../cli/cluster/snapshot/cluster-restore.js";
import { saveRunning } from "../cli/cluster/snapshot/live-snapshot.js";
import { noHeartbeatText, untilReadyBySession } from "../cli/cluster/until-ready.js";
import { quietLogger } from "../cli/ui/logging.js";
import type { AgentState, HostAction } from "../conductor-client/methods/session.js";
import type { HostSession } from "../conductor-client/port.js";
import { clientEnvironment, type StateDir } from "../control-plane/local/state-dir.js";
import { Snapshots } from "../control-plane/snapshot/snapshots.js";
import { expandHosts } from "../records/host-names.js";
import { nodeTimers } from "../runtime/node/node-builtins.js";
import { nodeFetch } from "../runtime/node/node-fetch.js";
import { nodeProgram } from "../runtime/node/node-processes.js";
import { createNodeRuntime } from "../runtime/node/node-runtime.js";
import type { Runtime } from "../runtime/runtime.js";
import { CloudAccess, credentialsIn } from "./cloud-access.js";
import type {
  AuditFinding,
  CloudCredentials,
  Cluster,
  Faults,
  HostControl,
  HostState,
  ObservedRequest,
  RestoreStateOptions,
  StartClusterOptions,
} from "./cluster.js";
import { auditCluster, clusterFaults, onlyOf, SETTLE_TIMEOUT, workOf, writeNovaConf } from "./cluster-operations.js";

/** The path of the program in the bundle, next to the library. */
const PROGRAM = fileURLToPath(new URL("../compute-cluster.js", import.meta.url));

/** Poll interval in milliseconds. */
const LOOK_EVERY = 20;
/** Max milliseconds for draining a host. */
const DRAIN_TIMEOUT_MS = 3_600_000;

/** The name of the caller in the conductor's log. */
const OPERATOR = "test";

/** Options that only an in-process cluster supports. */
const IN_PROCESS_ONLY = ["seed", "onLog", "autoAdvance"] as const;

/** A cluster of separate processes, as `compute-agent up --detach` starts them. */
export class ProcessCluster implements Cluster {
  readonly stateDir: string;
  readonly faults: Faults;
  readonly #options: StartClusterOptions;
  readonly #directory: StateDir;
  readonly #isTemporary: boolean;
  readonly #runtime: Runtime;
  readonly #access = new CloudAccess(this, nodeFetch);
  #url = "";
  #cloudsYaml = "";
  #hostNames: readonly string[] = [];
  #stopped: Promise<void> | undefined;

  /**
   * @param place `isTemporary`: the state directory is deleted when the cluster stops
   * @throws {Error} when an option is not supported for separate processes
   */
  constructor(
    options: StartClusterOptions,
    { directory, isTemporary }: { readonly directory: StateDir; readonly isTemporary: boolean },
  ) {
    const wrong = IN_PROCESS_ONLY.find((name) => options[name] !== undefined);
    if (options.time === "virtual" || wrong !== undefined) {
      throw new Error(
        `a cluster of separate processes uses real time and real randomness: remove ${wrong ?? 'time: "virtual"'} or inProcess: false`,
      );
    }
    this.#options = options;
    this.#directory = directory;
    this.#isTemporary = isTemporary;
    this.stateDir = directory.root;
    this.#runtime = createNodeRuntime({ logger: quietLogger });
    this.faults = clusterFaults({
      directory,
      runtime: this.#runtime,
      isServed: async (host) => (await this.#stateOf(host)) === "serving",
    });
  }

  /** @throws {Error} when the cluster or one of its hosts cannot start, with its output */
  async start(): Promise<void> {
    const { hosts, file, config, port = 0 } = this.#options;
    const { files, processes, programs } = this.#runtime;
    const flags = [
      ...(hosts === undefined ? [] : ["--hosts", String(hosts)]),
      ...(file === undefined ? [] : ["--file", resolve(file), "--yes"]),
      ...(config === undefined ? [] : ["--config-file", await writeNovaConf(config, this.#directory, files)]),
      // Nobody can use a temporary cluster after this process has ended.
      ...(this.#isTemporary ? ["--owner", String(processes.pid)] : []),
      ...["--port", String(port), "--state-dir", this.stateDir, "--detach", "--json"],
    ];
    const { code, stdout, stderr } = await programs.run({ argv: [...nodeProgram(PROGRAM), "up", ...flags] });
    this.#url = urlIn(stdout);
    if (code !== 0) {
      throw new Error(
        `the cluster did not start: compute-agent up exited with ${code}: ${stderr.trim() || stdout.trim()}`,
      );
    }
    this.#cloudsYaml = await files.read(this.#directory.cloudsFile);
    const rows = await this.#ask((session) => session.call("list_hosts", { host: null }));
    this.#hostNames = rows.map(({ host }) => host);
  }

  get url(): string {
    return this.#url;
  }

  get env(): Readonly<Record<string, string>> {
    return clientEnvironment(this.#directory);
  }

  get cloudsYaml(): string {
    return this.#cloudsYaml;
  }

  get credentials(): CloudCredentials {
    return credentialsIn(this.#cloudsYaml);
  }

  token(): Promise<string> {
    return this.#access.token();
  }

  fetch(service: string, path: string, init?: RequestInit): Promise<Response> {
    return this.#access.fetch(service, path, init);
  }

  get hostNames(): readonly string[] {
    return this.#hostNames;
  }

  get requests(): readonly ObservedRequest[] {
    throw new Error(
      "requests to a cluster of separate processes are only in its log: set log_requests: true in the cluster file and run compute-agent logs",
    );
  }

  clearRequests(): void {}

  get now(): number {
    return this.#runtime.clock.now();
  }

  async advance(): Promise<void> {
    throw new Error("a cluster of separate processes uses real time, which cannot be advanced");
  }

  hosts(names?: string): HostControl {
    const hosts = names === undefined ? this.#hostNames : expandHosts(names);
    const unknownHost = hosts.find((host) => !this.#hostNames.includes(host));
    if (unknownHost !== undefined) {
      throw new Error(`unknown host ${unknownHost}; known hosts: ${this.#hostNames.join(", ")}`);
    }
    const each = (action: HostAction, to: HostState) =>
      this.#ask(async (session) => {
        await Promise.all(
          hosts.map(async (host) => {
            const { state, reason } = await session.call(
              "control_host",
              { host, action },
              { timeout: DRAIN_TIMEOUT_MS },
            );
            if (action === "start" && state !== to) {
              throw new Error(`host ${host} did not start (${state}): ${reason}`);
            }
          }),
        );
        const started = action === "start" ? hosts : [];
        const [silent] = await untilReadyBySession(started, session, this.#runtime, null);
        if (silent !== undefined) {
          throw new Error(`host ${silent} is down: ${noHeartbeatText(silent)}`);
        }
      });
    return {
      state: () => this.#stateOf(onlyOf(hosts)),
      start: () => each("start", "serving"),
      stop: () => each("stop", "stopped"),
      kill: () => each("kill", "killed"),
    };
  }

  async settled({ timeout = SETTLE_TIMEOUT }: { readonly timeout?: number } = {}): Promise<void> {
    const { clock } = this.#runtime;
    const begin = clock.monotonic();
    for (;;) {
      const left = await workOf(this.#directory, this.#runtime);
      if (left === undefined) {
        return;
      }
      if (clock.monotonic() - begin >= timeout * 1000) {
        throw new Error(`the cluster has not settled within ${timeout} s: ${left}`);
      }
      await nodeTimers().sleep(LOOK_EVERY);
    }
  }

  audit(): Promise<readonly AuditFinding[]> {
    return auditCluster(this.#directory, this.#runtime);
  }

  async snapshot(name: string): Promise<void> {
    await saveRunning(name, { directory: this.#directory, runtime: this.#runtime });
  }

  restore(name: string, options: RestoreStateOptions = {}): Promise<void> {
    return this.#restore(name, options);
  }

  reset(options: RestoreStateOptions = {}): Promise<void> {
    return this.#restore(null, options);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #restore(name: string | null, { startHosts = false }: RestoreStateOptions): Promise<void> {
    const { metadata } = new Snapshots(this.#directory, this.#runtime.files).read(name);
    const place = { directory: this.#directory, runtime: this.#runtime, terminal: null, metadata };
    const missing = await restoreRunning(name, { ...place, yes: false, startHosts });
    if (missing.length > 0) {
      throw new Error(`hosts did not start: ${missing.join("; ")}`);
    }
  }

  async #stop(): Promise<void> {
    const { processes, files, http } = this.#runtime;
    const isRunning = this.#url !== "" && (await clusterState(this.stateDir, this.#runtime)).state === "running";
    if (isRunning) {
      const { pid } = await this.#ask((session) => session.call("stop_cluster", {}));
      while (processes.isAlive(pid)) {
        await nodeTimers().sleep(LOOK_EVERY);
      }
    }
    await http.close();
    if (this.#isTemporary) {
      await files.remove(this.stateDir);
    }
  }

  async #stateOf(host: string): Promise<HostState> {
    const rows = await this.#ask((session) => session.call("list_hosts", { host }));
    return STATES[rows[0]?.state ?? "stopped"];
  }

  #ask<T>(work: (session: HostSession) => Promise<T>): Promise<T> {
    return withOperatorSession(OPERATOR, { runtime: this.#runtime, directory: this.#directory }, work);
  }
}

/** Returns an empty string if the output does not report a running cluster. */
function urlIn(output: string): string {
  try {
    return String((JSON.parse(output) as { readonly url: unknown }).url);
  } catch {
    return "";
  }
}

const STATES: Readonly<Record<AgentState, HostState>> = {
  starting: "starting",
  waiting: "starting",
  restarting: "starting",
  serving: "serving",
  stopping: "stopping",
  stopped: "stopped",
  failed: "failed",
  killed: "killed",
};
