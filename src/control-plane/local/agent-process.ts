import type { AgentState, HostAction, HostProcess } from "../../conductor-client/methods/session.js";
import { foldHosts } from "../../records/host-names.js";
import type { CancelTimer } from "../../runtime/time.js";
import type { DownHosts } from "../snapshot/saved-state.js";
import {
  agentRestart,
  Component,
  type ComponentDeps,
  type ComponentState,
  type ComponentStatus,
  ENDED,
} from "./component.js";
import { PoolHosts } from "./host-summary.js";
import { type AddHosts, type HostChange, isMessage, OVER_THE_LINK } from "./reports.js";
import type { StateDir } from "./state-dir.js";

/** A process to start: an agent, named after its host, or a pool, an agent of several hosts. */
export interface AgentPlan {
  readonly name: string;
  readonly hosts: readonly string[];
  /** Arguments other than host and state directory. */
  readonly args: readonly string[];
  /** The driver argument; null if the configuration sets it. */
  readonly driver: string | null;
}

interface AgentListener {
  /** Called when the process or one of its hosts has changed. */
  changed(): void;
  /** Called when a host starts to serve. */
  serving(host: string): void;
}

/** An agent process of `compute-agent up`, and its hosts. */
export class AgentProcess {
  readonly plan: AgentPlan;
  readonly isPool: boolean;
  readonly #deps: ComponentDeps;
  readonly #component: Component;
  readonly #listener: AgentListener;
  readonly #logFile: string;
  readonly #pool = new PoolHosts();
  /** Pids of processes that other programs started and that serve hosts of the pool, by host. */
  readonly #elsewhere = new Map<string, number>();
  /** Cancel functions of pending restarts of failed hosts of the pool. */
  readonly #restarts = new Set<CancelTimer>();
  readonly #down: DownHosts;

  /** @param place `down`: hosts that are not started with the others */
  constructor(
    plan: AgentPlan,
    place: { readonly directory: StateDir; readonly module: string; readonly down?: DownHosts },
    deps: ComponentDeps,
    listener: AgentListener,
  ) {
    this.plan = plan;
    this.isPool = plan.hosts.length !== 1 || plan.hosts[0] !== plan.name;
    this.#deps = deps;
    this.#listener = listener;
    this.#logFile = place.directory.log(plan.name);
    this.#down = place.down ?? new Map();
    const since = deps.clock.now();
    for (const host of this.isPool ? plan.hosts : []) {
      const down = this.#down.get(host);
      const start =
        down === undefined ? { state: "starting" as const, detail: "" } : { state: down, detail: LEFT_DOWN };
      this.#pool.put(host, { ...start, exitCode: null, since, times: 0 });
    }
    this.#component = new Component(
      {
        name: plan.name,
        module: place.module,
        args: () => ["--host", this.#toServe(), "--state-dir", place.directory.root, ...this.#poolFlag(), ...plan.args],
        logFile: this.#logFile,
        restartIn: agentRestart,
      },
      deps,
      { changed: (status) => this.#processChanged(status), onMessage: (message) => this.#onMessage(message) },
    );
  }

  get name(): string {
    return this.plan.name;
  }

  get hosts(): readonly string[] {
    return this.isPool ? this.#pool.names : this.plan.hosts;
  }

  has(host: string): boolean {
    return this.isPool ? this.#pool.get(host) !== undefined : host === this.name;
  }

  /** The status; for a pool, it summarizes its hosts. */
  get status(): ComponentStatus {
    const status = this.#component.status;
    return !this.isPool || ENDED.includes(status.state) || status.state === "restarting"
      ? status
      : { ...status, state: this.#poolState(status.state), detail: this.#pool.summary, isSum: true };
  }

  /** Returns true if every host serves, or has ended and needs an operator. */
  get isSettled(): boolean {
    const { state } = this.status;
    return state === "ready" || state === "restarting" || ENDED.includes(state);
  }

  /** Returns true if every host serves. */
  get isServing(): boolean {
    return this.status.state === "ready" && (!this.isPool || this.#pool.count("serving") === this.#pool.size);
  }

  /** Starts the hosts except those that remain down; if all do, no process is started. */
  start(): void {
    const [first = "", ...others] = this.plan.hosts;
    const down = others.every((host) => this.#down.has(host)) ? this.#down.get(first) : undefined;
    if (down === undefined) {
      this.#component.start();
    } else {
      this.#component.leaveDown(this.isPool ? "stopped" : down, LEFT_DOWN);
    }
  }

  async stop(grace: number): Promise<void> {
    this.#giveUpRestarts();
    await this.#component.stop(grace);
  }

  /** Like {@link Component.rest}. */
  async rest(): Promise<void> {
    this.#giveUpRestarts();
    await this.#component.rest();
  }

  hostStatus(host: string, status = this.#component.status): HostProcess {
    const common = { host, driver: this.plan.driver, log: this.#logFile };
    const pooled = this.#pool.get(host);
    if (pooled === undefined) {
      const { state, pid, detail: reason, exitCode, since } = status;
      const process = this.#component.isElsewhere ? "elsewhere" : "own";
      return { ...common, state: hostStateOf(state), pid, process, since, reason, exitCode };
    }
    const { state, detail: reason, exitCode, since } = pooled;
    const other = this.#elsewhere.get(host);
    if (other !== undefined && state !== "serving") {
      return { ...common, state: "serving", pid: other, process: "elsewhere", since, reason: "", exitCode: null };
    }
    return { ...common, state, pid: status.pid, process: this.name, since, reason, exitCode };
  }

  /** Sets the process that owns a host now; null if none does. */
  servedBy(host: string, pid: number | null): void {
    if (!this.isPool) {
      this.#component.servedBy(pid);
    } else if (pid === null || pid === this.#component.status.pid) {
      this.#elsewhere.delete(host);
    } else {
      this.#elsewhere.set(host, pid);
    }
  }

  /**
   * Performs an operator's action on one host. Resolves with the host's state when the process was instructed to start
   * it, or has ended. {@link OVER_THE_LINK} if the process must be called over its connection.
   */
  async control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK> {
    if (this.isPool ? this.#elsewhere.has(host) : this.#component.isElsewhere) {
      return action === "start" ? this.hostStatus(host) : OVER_THE_LINK;
    }
    if (this.isPool) {
      return this.#controlPooled(host, action);
    }
    switch (action) {
      case "start":
        await this.#component.startAgain();
        return this.hostStatus(host);
      case "stop":
        return this.hostStatus(host, await this.#component.stop());
      case "kill":
        return this.hostStatus(host, await this.#component.kill());
    }
  }

  /** Returns true if the host's state is not transitional. */
  isHostSettled(host: string): boolean {
    return !["starting", "waiting", "stopping"].includes(this.hostStatus(host).state);
  }

  /** Adds hosts to the pool and starts them. */
  async add(hosts: readonly string[]): Promise<void> {
    for (const host of hosts) {
      this.#put(host, "starting");
    }
    await this.#serve(hosts);
  }

  /** Removes an ended host. */
  forget(host: string): void {
    this.#pool.remove(host);
    this.#elsewhere.delete(host);
    this.#listener.changed();
  }

  async #controlPooled(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK> {
    const runs = this.#component.isRunning;
    const before = this.#pool.get(host)?.state ?? "stopped";
    if (action === "start") {
      if (!runs || !["starting", "serving"].includes(before)) {
        this.#put(host, "starting");
        await this.#serve([host]);
      }
      return this.hostStatus(host);
    }
    if (![...LIVE, "stopping"].includes(before)) {
      return this.hostStatus(host);
    }
    if (runs) {
      return OVER_THE_LINK;
    }
    // A restart of the process must not include this host.
    this.#put(host, action === "kill" ? "killed" : "stopped");
    this.#listener.changed();
    return this.hostStatus(host);
  }

  async #serve(hosts: readonly string[]): Promise<void> {
    const message: AddHosts = { type: "add-hosts", hosts };
    if (this.#component.isRunning && this.#component.status.state !== "stopping") {
      this.#component.send(message);
    } else {
      await this.#component.startAgain();
    }
    this.#listener.changed();
  }

  #giveUpRestarts(): void {
    for (const cancel of this.#restarts) {
      cancel();
    }
    this.#restarts.clear();
  }

  #toServe(): string {
    return this.isPool ? foldHosts(this.#pool.of(...LIVE)) : this.name;
  }

  /** Pools have a flag, since a pool may have a single host. */
  #poolFlag(): readonly string[] {
    return this.isPool ? ["--pool"] : [];
  }

  #onMessage(message: unknown): void {
    if (!isMessage(message, "host-states")) {
      return;
    }
    for (const change of message.changes.filter(({ host }) => this.#pool.get(host) !== undefined)) {
      this.#hostChanged(change);
    }
    this.#listener.changed();
  }

  #hostChanged({ host, state, detail, exitCode }: HostChange): void {
    const before = this.#pool.get(host)?.times ?? 0;
    if (state !== "failed") {
      this.#put(host, state, { detail, exitCode, times: state === "serving" ? 0 : before });
      return;
    }
    const times = before + 1;
    const wait = agentRestart({ code: exitCode, signal: null, wasReady: true, times });
    if (wait === null) {
      this.#put(host, "failed", { detail, exitCode, times });
      return;
    }
    const again = `restarting in ${Math.ceil(wait / 1000)} s after its end: ${detail}`;
    this.#put(host, "restarting", { detail: again, exitCode, times });
    const cancel = this.#deps.timers.after(wait, () => {
      this.#restarts.delete(cancel);
      if (this.#pool.get(host)?.state === "restarting" && this.#component.isRunning) {
        this.#put(host, "starting", { times });
        this.#listener.changed();
        this.#component.send({ type: "add-hosts", hosts: [host] } satisfies AddHosts);
      }
    });
    this.#restarts.add(cancel);
  }

  /** Updates the hosts after a change of their process. */
  #processChanged({ state, detail, exitCode }: ComponentStatus): void {
    if (!this.isPool && state === "ready" && !this.#component.isElsewhere) {
      this.#listener.serving(this.name);
    }
    const fate = ENDED.includes(state) || state === "restarting" ? hostStateOf(state) : undefined;
    if (fate === undefined) {
      for (const host of state === "starting" ? this.#pool.of("restarting") : []) {
        this.#put(host, "starting", { times: this.#pool.get(host)?.times ?? 0 });
      }
    } else {
      for (const host of this.#pool.of("stopping")) {
        this.#put(host, "stopped");
      }
      for (const host of this.#pool.of(...LIVE)) {
        this.#put(host, fate, { detail, exitCode, times: this.#pool.get(host)?.times ?? 0 });
      }
    }
    this.#listener.changed();
  }

  /** Updates a host. The caller notifies the listener, once for several updates. */
  #put(
    host: string,
    state: AgentState,
    more: { detail?: string; exitCode?: number | null; times?: number } = {},
  ): void {
    const { detail = "", exitCode = null, times = 0 } = more;
    const before = this.#pool.get(host);
    const since = before?.state === state ? before.since : this.#deps.clock.now();
    this.#pool.put(host, { state, detail, exitCode, since, times });
    if (state === "serving" && before?.state !== state) {
      this.#listener.serving(host);
    }
  }

  #poolState(state: ComponentState): ComponentState {
    if (state === "stopping") {
      return "stopping";
    }
    if (this.#pool.count("starting", "waiting") > 0) {
      return "starting";
    }
    return this.#pool.count("serving", "restarting") > 0 ? "ready" : "stopped";
  }
}

/** Reason for hosts that a start leaves down. */
const LEFT_DOWN = "as in the restored state";

/** States of hosts that the process serves, or will serve once it runs. */
const LIVE = ["starting", "waiting", "serving", "restarting"] as const;

function hostStateOf(state: ComponentState): AgentState {
  return state === "ready" ? "serving" : state;
}
