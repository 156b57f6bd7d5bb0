import { openFaults } from "../../cli/agent/agent-faults.js";
import { createAgentHosts, openMetrics, UnhandledDriverErrors } from "../../cli/agent/host-lifecycle.js";
import type { Hosts } from "../../cli/agent/hosts.js";
import { type LoadedHosts, loadHosts } from "../../cli/agent/load-config.js";
import { type AgentCommandOptions, agentCommand, serviceVersionOf } from "../../cli/agent/options.js";
import { parsedOptions, version } from "../../cli/ui/command-line.js";
import { connectToConductor } from "../../conductor-client/connect-to-conductor.js";
import type { HostAction } from "../../conductor-client/methods/session.js";
import type { ConductorConnection } from "../../conductor-client/port.js";
import type { AgentPlan } from "../../control-plane/local/agent-process.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { DownState } from "../../control-plane/snapshot/saved-state.js";
import type { FaultFile } from "../../faults/fault-file.js";
import { createFaultyRuntime } from "../../faults/fault-injection.js";
import { foldHosts } from "../../records/host-names.js";
import type { LocalProcess, LocalWorld } from "../../simulation/local/local-world.js";
import type { HostState } from "../cluster.js";

/** The dependencies and connection data of agents. */
export interface AgentPlace {
  readonly world: LocalWorld;
  readonly directory: StateDir;
  /** `ws://127.0.0.1:8774/conductor` */
  readonly conductor: () => string;
  readonly joinToken: () => string;
}

/** The state of a running process. */
interface Running {
  readonly hosts: Hosts;
  readonly connection: ConductorConnection;
  readonly faultFile: FaultFile | null;
  /** Never resolves; rejects when the process is killed. */
  readonly killed: Promise<never>;
  readonly kill: () => Promise<void>;
}

/** The hosts of one agent process of `compute-agent up`, with a connection of their own. */
export class LocalAgents {
  readonly hosts: readonly string[];
  readonly #name: string;
  readonly #place: AgentPlace;
  readonly #options: AgentCommandOptions;
  readonly #loaded: LoadedHosts;
  /** Whether it has a single host of its own name, with which the process ends. */
  readonly #isSingle: boolean;
  #running: Promise<Running> | null = null;
  readonly #states = new Map<string, { readonly state: HostState; readonly detail: string }>();

  private constructor(plan: AgentPlan, place: AgentPlace, options: AgentCommandOptions, loaded: LoadedHosts) {
    this.hosts = plan.hosts;
    this.#name = plan.name;
    this.#place = place;
    this.#options = options;
    this.#loaded = loaded;
    this.#isSingle = plan.hosts.length === 1 && plan.hosts[0] === plan.name;
  }

  /**
   * Reads the configuration of the hosts and loads their driver.
   * @throws {ConfigError} {@link InvalidDriver}
   */
  static async load(plan: AgentPlan, place: AgentPlace): Promise<LocalAgents> {
    const { hosts, args } = plan;
    const options = await parsedOptions(agentCommand, [
      "--host",
      foldHosts(hosts),
      "--state-dir",
      place.directory.root,
      ...args,
    ]);
    const { files } = place.world.spawn(`${plan.name}-configuration`).runtime;
    // A driver that a test names is imported without isolation.
    return new LocalAgents(plan, place, options, await loadHosts(options, files, null));
  }

  state(host: string): { readonly state: HostState; readonly detail: string } {
    return this.#states.get(host) ?? { state: "stopped", detail: "" };
  }

  /** Sets the state of a host that is not started with the others; undefined: it is started. */
  leaveDown(host: string, state: DownState | undefined): void {
    if (state !== undefined) {
      this.#states.set(host, { state, detail: "" });
    }
  }

  /** Resolves when each host is serving or has ended. */
  async start(hosts: readonly string[]): Promise<void> {
    if (hosts.length === 0) {
      return;
    }
    if (this.#isSingle && !this.#isAlive) {
      // A process ends with its only host.
      await this.killAll();
    }
    const running = await this.#ensureOpen();
    await Promise.race([running.hosts.add(hosts), running.killed]).catch(ignoreKill);
  }

  async stop(host: string): Promise<void> {
    await this.#control(host, "stop");
  }

  /** Resolves when none of the host's work is in progress any more. */
  async kill(host: string): Promise<void> {
    if (this.#isSingle) {
      await this.killAll();
    } else {
      await this.#control(host, "kill");
    }
  }

  /** Kills the process with all of its hosts. */
  async killAll(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    for (const [host, { state }] of this.#states) {
      if (state !== "stopped" && state !== "failed") {
        this.#states.set(host, { state: "killed", detail: "" });
      }
    }
    await (await running)?.kill();
  }

  /** Drains all hosts and closes the connection. */
  async close(): Promise<void> {
    const running = await this.#running;
    await running?.hosts.stop();
    await running?.connection.close();
    await running?.faultFile?.close();
    await this.killAll();
  }

  get #isAlive(): boolean {
    return this.hosts.some((host) => ["starting", "serving", "stopping"].includes(this.state(host).state));
  }

  async #control(host: string, action: HostAction): Promise<void> {
    const running = await this.#running;
    if (running !== null) {
      await Promise.race([running.hosts.control(host, action), running.killed]).catch(ignoreKill);
    }
  }

  /** Starts the process unless it runs. A failed attempt is discarded, so that the next start tries again. */
  async #ensureOpen(): Promise<Running> {
    const own = this.#running ?? this.#open();
    this.#running = own;
    try {
      return await own;
    } catch (error) {
      this.#running = this.#running === own ? null : this.#running;
      throw error;
    }
  }

  async #open(): Promise<Running> {
    const own = this.#place.world.spawn(this.#name);
    try {
      return await this.#openIn(own);
    } catch (error) {
      await own.kill();
      throw error;
    }
  }

  async #openIn(own: LocalProcess): Promise<Running> {
    const { conductor, joinToken } = this.#place;
    const { runtime, skippable } = own;
    const { first } = this.#loaded;
    const { statePath } = first.compiled.config.defaults;
    // Faults can disconnect a host from the control plane only if it has a connection of its own.
    const faultFile = this.#isSingle ? await openFaults(statePath, runtime) : null;
    const connectionRuntime = faultFile === null ? runtime : createFaultyRuntime(runtime, faultFile.faults);
    const connection = connectToConductor({
      url: conductor(),
      joinToken: joinToken(),
      runtime: connectionRuntime,
      version: version(),
    });
    await connection.connected();
    const shared = {
      // Heartbeats and periodic tasks support skipping time, the connection does not.
      runtime: skippable,
      connection,
      outlet: await openMetrics(undefined, runtime),
      unhandledErrors: new UnhandledDriverErrors(runtime.logger, (reason) =>
        runtime.logger.fatal(reason.message, { err: reason }),
      ),
      traceDriver: false,
      serviceVersion: serviceVersionOf(this.#options),
    };
    const hosts = createAgentHosts(this.#loaded, shared, {
      timers: runtime.timers,
      faultFile,
      onState: ({ host, state, detail }, announce) => {
        this.#states.set(host, { state, detail });
        announce();
      },
      ...(this.#isSingle ? { killProcess: () => void this.killAll() } : {}),
    });
    let reject: (reason: Error) => void = () => undefined;
    const killed = new Promise<never>((_, fail) => {
      reject = fail;
    });
    killed.catch(ignoreKill);
    const kill = async (): Promise<void> => {
      const dead = own.kill();
      reject(new ProcessKilled(this.#name));
      await dead;
    };
    return { hosts, connection, faultFile, killed, kill };
  }
}

class ProcessKilled extends Error {
  override readonly name = "ProcessKilled";
}

/** Ignores that the process was killed: awaited operations have ended with it. */
function ignoreKill(error: unknown): void {
  if (!(error instanceof ProcessKilled)) {
    throw error;
  }
}
