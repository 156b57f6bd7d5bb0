import type { HostAction, HostProcess } from "../../conductor-client/methods/session.js";
import type { DownHosts } from "../snapshot/saved-state.js";
import { type AgentPlan, AgentProcess } from "./agent-process.js";
import { Component, type ComponentDeps, type ComponentStatus, controlPlaneRestart } from "./component.js";
import { isComponentReport, isHoldersReport, OVER_THE_LINK } from "./reports.js";
import type { StateDir } from "./state-dir.js";

export interface SupervisorOptions extends ComponentDeps {
  readonly directory: StateDir;
  readonly agents: readonly AgentPlan[];
  /** One agent after the other has to be ready: a service may not be older than all that are there (spec 1.2). */
  readonly inOrder?: boolean;
  /** Hosts that are not started with the others, since the state that is restored has them down. */
  readonly down?: DownHosts;
  /** Modules of the two programs, absolute paths. */
  readonly programs: { readonly cluster: string; readonly agent: string };
  readonly controlPlaneArgs: readonly string[];
  readonly onStatus: (status: ComponentStatus) => void;
  /** Called when a host serves that did not. */
  readonly onServing?: (host: string) => void;
  /** Called for each message of the control plane that is not about its own state. */
  readonly onMessage?: (message: unknown) => void;
}

/** A control plane and its agents as processes of their own: started in order, watched, stopped in the opposite order. */
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
          // Started again, it stays where clients and agents know it, also when any port would have done.
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

  /** Every host that is not being forgotten, with what has become of it. */
  get hosts(): readonly HostProcess[] {
    return this.#agents.flatMap((agent) => agent.hosts.map((host) => agent.hostStatus(host)));
  }

  /** Undefined: none of its processes has the host. */
  host(name: string): HostProcess | undefined {
    return this.#agentWith(name)?.hostStatus(name);
  }

  /** Address of the control plane, once it is ready. */
  get url(): string | undefined {
    return this.#url;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  /**
   * Resolves when each component is ready or has ended; false when one has ended, or when stopped before.
   * @param prepare is waited for when the control plane is ready, before any agent is started
   * @throws {FileFailure} a log cannot be written.
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

  /** Agents first, so that they can give back their leases. */
  async stop(grace = 10_000): Promise<void> {
    this.#stopping = true;
    this.#wake();
    await Promise.all(this.#agents.map((agent) => agent.stop(grace)));
    await this.#controlPlane.stop(grace);
  }

  /**
   * Ends all of it as by SIGKILL, since another state is put in the place of what it has; processes that can be kept wait for the next
   * supervisor with the same children. The control plane is last: who has asked it for this has its answer by then.
   */
  async rest(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    await Promise.all(this.#agents.map((agent) => agent.rest()));
    await this.#controlPlane.rest();
  }

  /**
   * Starts, stops or kills the agent of one host.
   * @returns what has become of it once that lasts, {@link OVER_THE_LINK} where the agent has to be asked over its connection;
   * undefined: none of these processes has the host. @throws {Error} everything is being stopped.
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

  /** Starts more processes; those whose name is taken are left out. @throws {Error} everything is being stopped. */
  add(plans: readonly AgentPlan[]): void {
    this.#assertNotStopping();
    for (const plan of plans.filter(({ name }) => this.#agents.every((agent) => agent.name !== name))) {
      const agent = this.#agentOf(plan);
      this.#agents.push(agent);
      agent.start();
    }
  }

  /** Forgets a host whose agent has ended. @throws {Error} it has not. */
  forget(host: string): void {
    const agent = this.#agentWith(host);
    if (agent === undefined) {
      return;
    }
    const { state } = agent.hostStatus(host);
    if (!["stopped", "failed", "killed"].includes(state)) {
      throw new Error(`the agent of ${host} is ${state}; stop it before the host is forgotten`);
    }
    agent.forget(host);
    if (agent.hosts.length === 0 || !agent.isPool) {
      this.#agents.splice(this.#agents.indexOf(agent), 1);
    }
  }

  /** Sends a message to the control plane. */
  notify(message: object): void {
    this.#controlPlane.send(message);
  }

  /** Resolves when the control plane has ended for good. */
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
      throw new Error("compute-cluster up is stopping; start it again");
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
    if (isComponentReport(message)) {
      this.#url = message.url ?? this.#url;
    } else if (isHoldersReport(message)) {
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

const ENDED = ["stopped", "failed", "killed"];
const SETTLED = ["ready", "restarting", ...ENDED];
