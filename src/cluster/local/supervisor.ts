import type { Children } from "../../runtime/children.js";
import type { Clock } from "../../runtime/clock.js";
import type { Timers } from "../../runtime/timers.js";
import { Component, type ComponentStatus } from "./component.js";
import { isComponentReport, isHostReport } from "./reports.js";
import { agentRestart, controlPlaneRestart } from "./restart-policy.js";
import type { StateDir } from "./state-dir.js";

export interface SupervisorOptions {
  readonly directory: StateDir;
  readonly hosts: readonly string[];
  /** One agent after the other has to be ready: a service may not be older than all that are there (spec 1.2). */
  readonly inOrder?: boolean;
  /** Further arguments of the agent of one host. */
  readonly hostArgs?: ReadonlyMap<string, readonly string[]>;
  /** Modules of the two programs, absolute paths. */
  readonly programs: { readonly cluster: string; readonly agent: string };
  /** Handed to every agent and to the control plane. */
  readonly agentArgs: readonly string[];
  readonly controlPlaneArgs: readonly string[];
  readonly onStatus: (status: ComponentStatus) => void;
  readonly children: Children;
  readonly timers: Timers;
  readonly clock: Clock;
}

/** A control plane and its agents as processes of their own: started in order, watched, stopped in the opposite order. */
export class Supervisor {
  readonly #controlPlane: Component;
  readonly #agents: readonly Component[];
  readonly #inOrder: boolean;
  readonly #waiters = new Set<() => void>();
  #url: string | undefined;
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#inOrder = options.inOrder ?? false;
    const doors = { children: options.children, timers: options.timers, clock: options.clock };
    const changed = (status: ComponentStatus) => {
      options.onStatus(status);
      for (const wake of [...this.#waiters]) {
        wake();
      }
    };
    this.#controlPlane = new Component(
      {
        name: "control-plane",
        module: options.programs.cluster,
        args: () => [
          ...["control-plane", "--state-dir", options.directory.root, ...options.controlPlaneArgs],
          // Started again, it stays where clients and agents know it, also when any port would have done.
          ...(this.#url === undefined ? [] : ["--port", new URL(this.#url).port]),
        ],
        logFile: options.directory.log("control-plane"),
        restartIn: controlPlaneRestart,
      },
      doors,
      { changed, told: (message) => this.#told(message) },
    );
    this.#agents = options.hosts.map(
      (host) =>
        new Component(
          {
            name: host,
            module: options.programs.agent,
            args: () => [
              "--host",
              host,
              "--state-dir",
              options.directory.root,
              ...options.agentArgs,
              ...(options.hostArgs?.get(host) ?? []),
            ],
            logFile: options.directory.log(host),
            restartIn: agentRestart,
          },
          doors,
          { changed, told: () => undefined },
        ),
    );
  }

  get statuses(): readonly ComponentStatus[] {
    return [this.#controlPlane, ...this.#agents].map((component) => component.status);
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
   * @throws {FileFailure} a log cannot be written.
   */
  async start(): Promise<boolean> {
    this.#controlPlane.start();
    if (!(await this.#settled(this.#controlPlane))) {
      return false;
    }
    for (const agent of this.#agents) {
      if (this.#stopping) {
        return false;
      }
      agent.start();
      if (this.#inOrder) {
        await this.#settled(agent);
      }
    }
    const settled = await Promise.all(this.#agents.map((agent) => this.#settled(agent)));
    return settled.every(Boolean);
  }

  /** Agents first, so that they can give back their leases. */
  async stop(grace = 10_000): Promise<void> {
    this.#stopping = true;
    for (const wake of [...this.#waiters]) {
      wake();
    }
    await Promise.all(this.#agents.map((agent) => agent.stop(grace)));
    await this.#controlPlane.stop(grace);
  }

  /** Resolves when the control plane has ended for good. */
  async controlPlaneEnded(): Promise<ComponentStatus> {
    await this.#until(() => hasEnded(this.#controlPlane.status));
    return this.#controlPlane.status;
  }

  #told(message: unknown): void {
    if (isComponentReport(message) && message.url !== undefined) {
      this.#url = message.url;
    }
    if (isHostReport(message)) {
      this.#agents.find(({ name }) => name === message.host)?.servedBy(message.pid);
    }
  }

  async #settled(component: Component): Promise<boolean> {
    const settled = ["ready", "restarting", ...ENDED];
    await this.#until(() => this.#stopping || settled.includes(component.status.state));
    return !this.#stopping && component.status.state === "ready";
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

const hasEnded = (status: ComponentStatus): boolean => ENDED.includes(status.state);
