import type { HostAction, HostProcess } from "../../conductor-client/methods/session.js";
import type { DownHosts } from "../snapshot/saved-state.js";
import { type AgentPlan, AgentProcess } from "./agent-process.js";
import { Component, type ComponentDeps, type ComponentStatus, controlPlaneRestart, ENDED } from "./component.js";
import { isMessage, OVER_THE_LINK } from "./reports.js";
import type { StateDir } from "./state-dir.js";

export interface SupervisorOptions extends ComponentDeps {
  readonly directory: StateDir;
  readonly agents: readonly AgentPlan[];
  /** Start each agent after the previous one is ready: a service may not be older than the existing ones (spec 1.2). */
  readonly inOrder?: boolean;
  /** Hosts that are not started, since they are down in the restored state. */
  readonly down?: DownHosts;
  /** Absolute paths of the modules of both programs. */
  readonly programs: { readonly cluster: string; readonly agent: string };
  readonly controlPlaneArgs: readonly string[];
  readonly onStatus: (status: ComponentStatus) => void;
  /** Called when a host starts to serve. */
  readonly onServing?: (host: string) => void;
  /** Called for each message of the control plane except reports of its own state. */
  readonly onMessage?: (message: unknown) => void;
}

/** Supervises a control plane and its agents as separate processes. They are started in order and stopped in reverse order. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #controlPlane: Component;
  readonly #agents: AgentProcess[];
  readonly #waiters = new Set<() => void>();
  #url: string | undefined;
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { directory, programs, children, timers, clock } = options;
    this.#controlPlane = new Component(
      {
        name: "control-plane",
        module: programs.cluster,
        args: () => [
          ...["control-plane", "--state-dir", directory.root, ...options.controlPlaneArgs],
          // A restart uses the same port, even if it was chosen at random, since clients and agents have the address.
          ...(this.#url === undefined ? [] : ["--port", new URL(this.#url).port]),
        ],
        logFile: directory.log("control-plane"),
        restartIn: controlPlaneRestart,
      },
      { children, timers, clock },
      { changed: (status) => this.#changed(status), onMessage: (message) => this.#onMessage(message) },
    );
    this.#agents = options.agents.map((plan) => this.#agentOf(plan, options.down));
  }

  get statuses(): readonly ComponentStatus[] {
    return [this.#controlPlane, ...this.#agents].map((component) => component.status);
  }

  /** Every host with its state, except hosts that are being removed. */
  get hosts(): readonly HostProcess[] {
    return this.#agents.flatMap((agent) => agent.hosts.map((host) => agent.hostStatus(host)));
  }

  /** Returns undefined if none of these processes has the host. */
  host(name: string): HostProcess | undefined {
    return this.#agentWith(name)?.hostStatus(name);
  }

  /** URL of the control plane, once it is ready. */
  get url(): string | undefined {
    return this.#url;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  /**
   * Resolves when each component is ready or has ended. Resolves to false if one has ended, or after a stop.
   * @param prepare awaited when the control plane is ready, before any agent is started
   * @throws {FileFailure} if a log cannot be written
   */
  async start(prepare: () => Promise<void> = async () => undefined): Promise<boolean> {
    this.#controlPlane.start();
    await this.#until(() => this.#stopping || SETTLED.includes(this.#controlPlane.status.state));
    if (this.#stopping || this.#controlPlane.status.state !== "ready") {
      return false;
    }
    await prepare();
    const agents = [...this.#agents];
    for (const agent of agents) {
      if (this.#stopping) {
        return false;
      }
      agent.start();
      if (this.#options.inOrder === true) {
        await this.#until(() => this.#stopping || agent.isSettled);
      }
    }
    await this.#until(() => this.#stopping || agents.every((agent) => agent.isSettled));
    return !this.#stopping && agents.every((agent) => agent.isServing);
  }

  /** Stops agents first, so that they can release their leases. */
  async stop(grace = 10_000): Promise<void> {
    this.#stopping = true;
    this.#wake();
    await Promise.all(this.#agents.map((agent) => agent.stop(grace)));
    await this.#controlPlane.stop(grace);
  }

  /**
   * Ends everything as SIGKILL would, since the state is about to be replaced. Processes that can be retained wait for
   * the next supervisor with the same children. The control plane is last, so that the caller's response can be sent.
   */
  async rest(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    await Promise.all(this.#agents.map((agent) => agent.rest()));
    await this.#controlPlane.rest();
  }

  /**
   * Starts, stops or kills the agent of a host.
   * @returns the resulting state, or {@link OVER_THE_LINK} if the agent must be called over its connection; undefined if
   * none of these processes has the host
   * @throws {Error} while everything is being stopped
   */
  async control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK | undefined> {
    const agent = this.#agentWith(host);
    if (agent === undefined) {
      return undefined;
    }
    if (action === "start") {
      this.#assertNotStopping();
    }
    const done = await agent.control(host, action);
    if (done === OVER_THE_LINK || action !== "start") {
      return done;
    }
    await this.#until(() => this.#stopping || agent.isHostSettled(host));
    return agent.hostStatus(host);
  }

  /** Starts more processes, except those whose names are in use. @throws {Error} while everything is being stopped */
  add(plans: readonly AgentPlan[]): void {
    this.#assertNotStopping();
    for (const plan of plans.filter(({ name }) => this.#agents.every((agent) => agent.name !== name))) {
      const agent = this.#agentOf(plan);
      this.#agents.push(agent);
      agent.start();
    }
  }

  /** Removes a host whose agent has ended. @throws {Error} if it still runs */
  forget(host: string): void {
    const agent = this.#agentWith(host);
    if (agent === undefined) {
      return;
    }
    const { state } = agent.hostStatus(host);
    if (!ENDED.includes(state)) {
      throw new Error(`the agent of host ${host} is ${state}; stop it before removing the host`);
    }
    agent.forget(host);
    if (agent.hosts.length === 0 || !agent.isPool) {
      this.#agents.splice(this.#agents.indexOf(agent), 1);
    }
  }

  notify(message: object): void {
    this.#controlPlane.send(message);
  }

  /** Resolves when the control plane has ended and is not restarted. */
  async controlPlaneEnded(): Promise<ComponentStatus> {
    await this.#until(() => ENDED.includes(this.#controlPlane.status.state));
    return this.#controlPlane.status;
  }

  #agentOf(plan: AgentPlan, down: DownHosts = new Map()): AgentProcess {
    const { directory, programs, children, timers, clock } = this.#options;
    const place = { directory, module: programs.agent, down };
    const agent: AgentProcess = new AgentProcess(
      plan,
      place,
      { children, timers, clock },
      {
        changed: () => this.#changed(agent.status),
        serving: (host) => this.#options.onServing?.(host),
      },
    );
    return agent;
  }

  #agentWith(host: string): AgentProcess | undefined {
    return this.#agents.find((agent) => agent.has(host));
  }

  #assertNotStopping(): void {
    if (this.#stopping) {
      throw new Error("compute-agent up is stopping; start it again");
    }
  }

  #changed(status: ComponentStatus): void {
    this.#options.onStatus(status);
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) {
      wake();
    }
  }

  #onMessage(message: unknown): void {
    if (isMessage(message, "component")) {
      this.#url = message.url ?? this.#url;
    } else if (isMessage(message, "holders")) {
      for (const { host, pid } of message.holders) {
        this.#agentWith(host)?.servedBy(host, pid);
      }
    } else {
      this.#options.onMessage?.(message);
    }
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiters.delete(wake);
          resolve();
        };
        this.#waiters.add(wake);
      });
    }
  }
}

const SETTLED = ["ready", "restarting", ...ENDED];
