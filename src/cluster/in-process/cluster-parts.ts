import { resolve } from "node:path";
import { type ControlPlaneCommandOptions, controlPlaneCommand } from "../../cli/cluster/control-plane.js";
import { controlPlaneConfig } from "../../cli/cluster/control-plane-config.js";
import { prepareCluster } from "../../cli/cluster/file/prepare-cluster.js";
import { type ClusterDescription, readClusterFile } from "../../cli/cluster/file/read-cluster-file.js";
import { type HostSettings, HostSettingsStore } from "../../cli/cluster/host-settings.js";
import { resolveExternalListener } from "../../cli/cluster/listen.js";
import { settingsOf, type UpOptions, upChildren } from "../../cli/cluster/up-children.js";
import { parsedOptions } from "../../cli/ui/command-line.js";
import { quietTerminal } from "../../cli/ui/terminal.js";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.js";
import type { AgentPlan } from "../../control-plane/local/agent-process.js";
import { conductorUrl, type StateDir } from "../../control-plane/local/state-dir.js";
import type { RequestListener } from "../../control-plane/request-log/request-log.js";
import { type DownHosts, forgetDownHosts, readDownHosts } from "../../control-plane/snapshot/saved-state.js";
import type { Files } from "../../runtime/files.js";
import { nodeDigests, nodeKeys } from "../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import type { LocalProcess, LocalWorld } from "../../simulation/local/local-world.js";
import type { StartClusterOptions } from "../cluster.js";
import { writeNovaConf } from "../cluster-operations.js";
import { type AgentPlace, LocalAgents } from "./local-agents.js";

/** The parts of a cluster, as `compute-agent up` would start them. */
interface WhatToStart {
  readonly controlPlane: ControlPlaneCommandOptions;
  readonly agents: readonly AgentPlan[];
  /** Whether agents start one after the other, the oldest release first. */
  readonly inOrder: boolean;
  readonly described: ClusterDescription | undefined;
}

/** All hosts share this process, so several agent processes would have no benefit. */
const CORES = 1;

export interface PartsOptions {
  readonly world: LocalWorld;
  readonly directory: StateDir;
  readonly what: WhatToStart;
  readonly onRequest: RequestListener;
}

interface RunningControlPlane {
  readonly process: LocalProcess;
  readonly started: ControlPlane;
}

/** The control plane and the agents of a cluster, each simulated as a separate process. */
export class ClusterParts {
  readonly #options: PartsOptions;
  #agents: readonly LocalAgents[] = [];
  #controlPlane: RunningControlPlane | undefined;
  #joinToken = "";
  #cloudsYaml = "";

  constructor(options: PartsOptions) {
    this.#options = options;
  }

  get agents(): readonly LocalAgents[] {
    return this.#agents;
  }

  get cloudsYaml(): string {
    return this.#cloudsYaml;
  }

  get isRunning(): boolean {
    return this.#controlPlane !== undefined;
  }

  /** @throws {Error} when it does not run */
  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) {
      throw new Error("the cluster does not run");
    }
    return this.#controlPlane.started;
  }

  /**
   * Starts all parts and resolves when they are serving.
   * @param before `port` of the control plane; `ready` is called before the agents start
   * @throws the reason why the control plane or a host cannot start
   */
  async start(
    before: { readonly port?: number; readonly ready?: (controlPlane: ControlPlane) => void } = {},
  ): Promise<void> {
    const { world, directory, what } = this.#options;
    await this.#startControlPlane(before.port ?? what.controlPlane.port ?? 0);
    before.ready?.(this.controlPlane);
    if (this.#agents.length === 0) {
      const place: AgentPlace = {
        world,
        directory,
        conductor: () => conductorUrl(this.controlPlane),
        joinToken: () => this.#joinToken,
      };
      this.#agents = await Promise.all(what.agents.map((plan) => LocalAgents.load(plan, place)));
    }
    const files = new NodeFiles();
    const down = await readDownHosts(directory, files);
    if (what.inOrder) {
      for (const agents of this.#agents) {
        await startAll(agents, down);
      }
    } else {
      await Promise.all(this.#agents.map((agents) => startAll(agents, down)));
    }
    await forgetDownHosts(directory, files);
  }

  /** Kills all parts as `kill -9` does. */
  async kill(): Promise<void> {
    await Promise.all(this.#agents.map((agents) => agents.killAll()));
    await this.#controlPlane?.process.kill();
    // On a real kill the kernel would close the database.
    this.#controlPlane?.started.store.close();
    this.#controlPlane = undefined;
  }

  /** Stops agents and control plane gracefully. */
  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agents) => agents.close()));
    await this.#controlPlane?.started.stop();
    await this.#controlPlane?.process.kill();
    this.#controlPlane = undefined;
  }

  async #startControlPlane(port: number): Promise<void> {
    const { world, directory, what, onRequest } = this.#options;
    const process = world.spawn("control-plane", { isVisible: true });
    const { runtime } = process;
    const { root } = directory;
    const config = await controlPlaneConfig(what.controlPlane, { runtime, cwd: root, stateDir: root });
    const externalListener = await resolveExternalListener(what.controlPlane, directory, runtime, undefined);
    const started = await startControlPlane({
      runtime,
      digests: { ...nodeDigests, scrypt: (...args) => world.activity.during(() => nodeDigests.scrypt(...args)) },
      keys: nodeKeys,
      directory,
      port,
      ironicNodes: what.controlPlane.ironic,
      ...(externalListener && { externalListener }),
      ...config,
      onRequest,
    });
    this.#controlPlane = { process, started };
    this.#joinToken = (await runtime.files.read(directory.joinTokenFile)).trim();
    this.#cloudsYaml = await runtime.files.read(directory.cloudsFile);
  }
}

/** Starts the hosts except those that are down in the restored state. */
async function startAll(agents: LocalAgents, down: DownHosts): Promise<void> {
  for (const host of agents.hosts) {
    agents.leaveDown(host, down.get(host));
  }
  await agents.start(agents.hosts.filter((host) => !down.has(host)));
  for (const host of agents.hosts) {
    assertServing(agents, host);
  }
}

/** @throws {Error} when the host failed to start */
export function assertServing(agents: LocalAgents, host: string): void {
  const { state, detail } = agents.state(host);
  if (state === "failed") {
    throw new Error(`host ${host} did not start: ${detail}`);
  }
}

/**
 * Reads the cluster file, if there is one, and prepares the start.
 * @throws {CommandError} the file is missing or invalid
 */
export async function whatToStart(
  startOptions: StartClusterOptions,
  directory: StateDir,
  files: Files,
): Promise<WhatToStart> {
  const { options, described } = await upOptions(startOptions, directory, files);
  const settingsStore = new HostSettingsStore(files, directory);
  const before: HostSettings = await settingsStore.read();
  const settings = settingsOf(options, before, (path) => resolve(path));
  const { agents, inOrder, controlPlaneArgs } = upChildren(options, directory, settings, CORES);
  if (described !== undefined) {
    const interrupt = new AbortController().signal;
    await prepareCluster(described, {
      directory,
      before,
      check: undefined,
      yes: true,
      terminal: quietTerminal,
      interrupt,
    });
  }
  await Promise.all([...settings].map(([host, setting]) => settingsStore.keep(host, setting)));
  const controlPlane = await parsedOptions(controlPlaneCommand, ["--state-dir", directory.root, ...controlPlaneArgs]);
  return { controlPlane, agents, inOrder: inOrder === true, described };
}

async function upOptions(startOptions: StartClusterOptions, directory: StateDir, files: Files) {
  const options: UpOptions = {
    ...(startOptions.hosts === undefined ? {} : { hosts: startOptions.hosts }),
    stateDir: directory.root,
    port: startOptions.port ?? 0,
    configFile: startOptions.config === undefined ? [] : [await writeNovaConf(startOptions.config, directory, files)],
  };
  if (startOptions.file === undefined) {
    return { options, described: undefined };
  }
  const providedOptions = new Set([
    "stateDir",
    ...(startOptions.hosts === undefined ? [] : ["hosts"]),
    ...(startOptions.port === undefined ? [] : ["port"]),
  ]);
  const described = await readClusterFile(
    startOptions.file,
    { options, providedOptions: providedOptions },
    { files, digests: nodeDigests, cwd: resolve() },
  );
  return { options: described.options, described };
}
