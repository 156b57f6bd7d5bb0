import { AgentStopped } from "../../agent/lifecycle/agent.js";
import { toStartupRejection } from "../../agent/rejections.js";
import type { ControlledHost, HostAction, HostState } from "../../conductor-client/methods/session.js";
import type { HostController } from "../../conductor-client/port.js";
import { SparseSet } from "../../runtime/collections.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { TaskQueue } from "../../runtime/task-queue.js";
import type { Timers } from "../../runtime/time.js";
import { ExitCode, exitCodeOf } from "../ui/exit-code.js";

/** The state of a host, with the reason. */
export interface AgentHostStatus extends ControlledHost {
  /** The exit code that an agent with only this host would have ended with; null if it has not ended. */
  readonly exitCode: number | null;
  /** The reason for the failure. */
  readonly error: unknown;
}

/** One run of a host. */
export interface HostRun {
  /** Runs from start-up to the end. Never settles after a kill. */
  run(): Promise<void>;
  stop(): void;
  /**
   * Kills the host, even if it has ended. Resolves when none of its work is pending.
   * @throws its work did not stop in time
   */
  kill(): Promise<void>;
  reset(): void;
}

/** Shared by all hosts of a process. */
interface PooledHostOptions {
  /** Creates a run. @throws the host's configuration is incomplete */
  readonly createRun: (host: string, onServing: () => void) => HostRun;
  /** Resolves when the host may start. @param settled resolves when it serves or has ended */
  readonly takeSlot: (settled: Promise<void>) => Promise<void>;
  readonly onState: (status: AgentHostStatus, before: HostState) => void;
}

interface StartedRun {
  readonly run: HostRun;
  /** Whether its slot in the start queue has come. */
  begun: boolean;
  served: boolean;
}

/** One host of a process, across its runs; never two runs at the same time. */
export class PooledHost {
  readonly #host: string;
  readonly #options: PooledHostOptions;
  #started: StartedRun | null = null;
  /** Waits until no work of earlier runs is pending. */
  #rest: () => Promise<void> = atRest;
  #status: AgentHostStatus;
  /** Called once each at the next change. */
  readonly #waiting = new SparseSet<() => void>();

  constructor(host: string, options: PooledHostOptions) {
    this.#host = host;
    this.#options = options;
    this.#status = { host, state: "stopped", detail: "", exitCode: null, error: null };
  }

  get status(): AgentHostStatus {
    return this.#status;
  }

  /** Null if the host is not running. */
  get run(): HostRun | null {
    return this.#started?.run ?? null;
  }

  /** Starts the host. Resolves when it serves or has failed. A draining host is started after it has stopped. */
  async start(): Promise<void> {
    if (this.#status.state === "stopping") {
      await this.#over(this.#started);
    }
    if (this.#started === null) {
      this.#begin();
    }
    await this.#settled(this.#started);
  }

  /** Drains the host, as SIGTERM does. Resolves when it has ended. */
  async stop(): Promise<void> {
    const started = this.#started;
    if (started === null) {
      return;
    }
    if (started.begun) {
      this.#enter("stopping");
      started.run.stop();
    } else {
      this.#end(started, "stopped", null);
    }
    await this.#over(started);
  }

  /** Kills the host, as SIGKILL does. Resolves when its end is observable and none of its work is pending. */
  async kill(): Promise<void> {
    const started = this.#started;
    if (started !== null) {
      const dead = started.run.kill();
      this.#end(started, "killed", null);
      await dead;
    }
    // Earlier runs of the host may still be ending.
    await this.#rest();
  }

  #begin(): void {
    this.#enter("starting");
    let run: HostRun;
    try {
      run = this.#options.createRun(this.#host, () => {
        if (this.#started === started) {
          started.served = true;
          this.#enter("serving");
        }
      });
    } catch (error) {
      this.#failed(error);
      return;
    }
    const started: StartedRun = { run, begun: false, served: false };
    this.#started = started;
    void this.#complete(started);
  }

  /** Never rejects. */
  async #complete(started: StartedRun): Promise<void> {
    try {
      await this.#options.takeSlot(this.#settled(started));
      await this.#rest();
      if (this.#started === started) {
        this.#rest = atRest;
        started.begun = true;
        await started.run.run();
        this.#end(started, "stopped", null);
      }
    } catch (error) {
      this.#end(started, "failed", error);
    }
  }

  #end(started: StartedRun, state: HostState, error: unknown): void {
    if (this.#started !== started) {
      return;
    }
    this.#started = null;
    const rest = this.#rest;
    this.#rest = async () => {
      await rest();
      await started.run.kill();
    };
    if (state === "failed" && !(error instanceof AgentStopped)) {
      this.#failed(error);
    } else {
      this.#enter(state === "failed" ? "stopped" : state, { exitCode: state === "killed" ? null : ExitCode.ok });
    }
  }

  #failed(error: unknown): void {
    const detail = errorMessage(error);
    const exitCode = toStartupRejection(error) === null ? exitCodeOf(error) : ExitCode.rejected;
    this.#enter("failed", { detail, exitCode, error });
  }

  #enter(state: HostState, more: Partial<AgentHostStatus> = {}): void {
    const before = this.#status.state;
    this.#status = { host: this.#host, state, detail: "", exitCode: null, error: null, ...more };
    this.#options.onState(this.#status, before);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) {
      resolve();
    }
  }

  /** Resolves when that run has ended. */
  async #over(started: StartedRun | null): Promise<void> {
    while (started !== null && this.#started === started) {
      await this.#change();
    }
  }

  /** Resolves when that run serves or has ended. */
  async #settled(started: StartedRun | null): Promise<void> {
    while (started !== null && this.#started === started && !started.served) {
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
    });
  }
}

/**
 * Maximum number of hosts that start concurrently. With more, the control plane would respond too late to all of them, and
 * the garbage collector would promote their temporary data.
 */
const STARTING = 64;

/** Milliseconds after which a host that is still starting frees its slot: its driver may hang. */
const SLOT_TIMEOUT_MS = 2_000;

export interface HostsOptions {
  /** Creates one run of the host. @throws its configuration is incomplete */
  readonly createRun: (host: string, onServing: () => void) => HostRun;
  readonly timers: Timers;
  /** Maximum number of hosts that start concurrently. Default {@link STARTING}. */
  readonly starting?: number;
  /** Called at each change. */
  readonly onState: (status: AgentHostStatus) => void;
  /**
   * Kills the process, if it has only one host, when the host is killed. Default: the process continues and can start its
   * hosts again.
   */
  readonly killProcess?: () => void;
}

const LIVING: ReadonlySet<HostState> = new Set(["starting", "serving", "stopping"]);

/** The hosts of one agent process. Each starts, stops, fails and is killed independently. */
export class Hosts implements HostController {
  readonly #options: HostsOptions;
  readonly #hosts = new Map<string, PooledHost>();
  readonly #startQueue: TaskQueue;
  readonly #each: PooledHostOptions;
  readonly #idle: Promise<void>;
  #becomeIdle: () => void = () => {};
  #stopping = false;
  /** Counted with each change: a scan of all hosts at each change would be quadratic. */
  #living = 0;
  #failed = 0;

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#startQueue = new TaskQueue(options.starting ?? STARTING);
    this.#each = {
      createRun: options.createRun,
      takeSlot: (settled) => this.#takeSlot(settled),
      onState: (status, before) => {
        this.#count(before, -1);
        this.#count(status.state, 1);
        options.onState(status);
        this.#checkIdle();
      },
    };
    this.#idle = new Promise((resolve) => {
      this.#becomeIdle = resolve;
    });
  }

  get statuses(): readonly AgentHostStatus[] {
    return [...this.#hosts.values()].map(({ status }) => status);
  }

  /** Resolves when no host is running, and none can be started again by a user. */
  get idle(): Promise<void> {
    return this.#idle;
  }

  /** The present runs of all hosts. */
  get runs(): readonly HostRun[] {
    return [...this.#hosts.values()].flatMap(({ run }) => run ?? []);
  }

  /** Starts hosts that are not running, known or not. Resolves when each of them serves or has ended. */
  async add(names: readonly string[]): Promise<void> {
    const started = this.#stopping ? [] : names;
    for (const name of started.filter((each) => !this.#hosts.has(each))) {
      this.#hosts.set(name, new PooledHost(name, this.#each));
    }
    await Promise.all(started.map((name) => this.#hosts.get(name)?.start()));
  }

  async control(name: string, action: HostAction): Promise<ControlledHost> {
    const host = this.#hosts.get(name);
    if (host === undefined) {
      throw new Error(`this process has no host ${name}`);
    }
    if (action === "kill" && this.#options.killProcess !== undefined && this.#hosts.size === 1) {
      this.#options.killProcess();
    }
    if (action === "start" && this.#stopping) {
      throw new Error("its process is stopping");
    }
    await host[action]();
    const { state, detail } = host.status;
    return { host: name, state, detail };
  }

  /** Drains all hosts. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#hosts.values()].map((host) => host.stop()));
    this.#checkIdle();
  }

  /** Ends all hosts as `kill -9` would, and starts no more. Resolves when none of their work is pending. */
  async cut(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#hosts.values()].map((host) => host.kill()));
    this.#checkIdle();
  }

  #count(state: HostState, by: 1 | -1): void {
    this.#living += LIVING.has(state) ? by : 0;
    this.#failed += state === "failed" ? by : 0;
  }

  #checkIdle(): void {
    const { size } = this.#hosts;
    const alone = this.#options.killProcess !== undefined && size === 1;
    const over = this.#stopping || alone || this.#failed === size;
    if (over && this.#living === 0) {
      this.#becomeIdle();
    }
  }

  #takeSlot(settled: Promise<void>): Promise<void> {
    return new Promise((begin) => {
      void this.#startQueue.run(async () => {
        begin();
        await new Promise<void>((release) => {
          const cancel = this.#options.timers.after(SLOT_TIMEOUT_MS, release);
          void settled.then(() => {
            cancel();
            release();
          });
        });
      });
    });
  }
}

async function atRest(): Promise<void> {}
