import { AgentStopped } from "../../agent/lifecycle/agent.js";
import { toStartupRejection } from "../../agent/rejections.js";
import type { ControlledHost, HostAction, HostState } from "../../conductor-client/methods/session.js";
import type { HostController } from "../../conductor-client/port.js";
import { SparseSet } from "../../runtime/collections.js";
import { TaskQueue } from "../../runtime/task-queue.js";
import type { Timers } from "../../runtime/time.js";
import { ExitCode, exitCodeOf } from "../ui/exit-code.js";

/** How a host stands, and why. */
export interface AgentHostStatus extends ControlledHost {
  /** What an agent of this host alone would have ended with; null: it has not ended. */
  readonly exitCode: number | null;
  /** Why it failed. */
  readonly error: unknown;
}

/** One life of a host. */
export interface LiveHost {
  /** From start-up to the end; never settles once it was killed. */
  run(): Promise<void>;
  stop(): void;
  /** Kills a host that has ended, too. Resolves when nothing of it is under way any more. @throws it did not come to rest */
  kill(): Promise<void>;
  reset(): void;
}

/** The same for all hosts of a process. */
interface PooledHostOptions {
  /** Makes a life. @throws what the host's configuration lacks */
  readonly live: (host: string, onServing: () => void) => LiveHost;
  /** Resolves when it may start. @param settled when it serves or has ended */
  readonly turn: (settled: Promise<void>) => Promise<void>;
  readonly onState: (status: AgentHostStatus, before: HostState) => void;
}

interface Run {
  readonly life: LiveHost;
  /** Its turn has come. */
  begun: boolean;
  /** It has served. */
  served: boolean;
}

/** One host of a process, from one life to the next; never two at a time. */
export class PooledHost {
  readonly #host: string;
  readonly #options: PooledHostOptions;
  #run: Run | null = null;
  /** Waits until nothing of the lives before is under way. */
  #rest: () => Promise<void> = atRest;
  #status: AgentHostStatus;
  /** What the next change calls, once each. */
  readonly #waiting = new SparseSet<() => void>();

  constructor(host: string, options: PooledHostOptions) {
    this.#host = host;
    this.#options = options;
    this.#status = { host, state: "stopped", detail: "", exitCode: null, error: null };
  }

  get status(): AgentHostStatus {
    return this.#status;
  }

  /** Null: it does not live. */
  get life(): LiveHost | null {
    return this.#run?.life ?? null;
  }

  /** Resolves when it serves, or has failed. One that drains is started when that is over. */
  async start(): Promise<void> {
    if (this.#status.state === "stopping") {
      await this.#over(this.#run);
    }
    if (this.#run === null) {
      this.#begin();
    }
    await this.#settled(this.#run);
  }

  /** SIGTERM's. Resolves when it has ended. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === null) {
      return;
    }
    if (run.begun) {
      this.#enter("stopping");
      run.life.stop();
    } else {
      this.#end(run, "stopped", null);
    }
    await this.#over(run);
  }

  /** SIGKILL's. Resolves when others can know of it, and nothing of it is under way. */
  async kill(): Promise<void> {
    const run = this.#run;
    if (run !== null) {
      const dead = run.life.kill();
      this.#end(run, "killed", null);
      await dead;
    }
    // Earlier lives of the host may still be ending.
    await this.#rest();
  }

  #begin(): void {
    this.#enter("starting");
    let life: LiveHost;
    try {
      life = this.#options.live(this.#host, () => {
        if (this.#run === run) {
          run.served = true;
          this.#enter("serving");
        }
      });
    } catch (error) {
      this.#failed(error);
      return;
    }
    const run: Run = { life, begun: false, served: false };
    this.#run = run;
    void this.#live(run);
  }

  /** Never rejects. */
  async #live(run: Run): Promise<void> {
    try {
      await this.#options.turn(this.#settled(run));
      await this.#rest();
      if (this.#run === run) {
        this.#rest = atRest;
        run.begun = true;
        await run.life.run();
        this.#end(run, "stopped", null);
      }
    } catch (error) {
      this.#end(run, "failed", error);
    }
  }

  #end(run: Run, state: HostState, error: unknown): void {
    if (this.#run !== run) {
      return;
    }
    this.#run = null;
    const rest = this.#rest;
    this.#rest = async () => {
      await rest();
      await run.life.kill();
    };
    if (state === "failed" && !(error instanceof AgentStopped)) {
      this.#failed(error);
    } else {
      this.#enter(state === "failed" ? "stopped" : state, { exitCode: state === "killed" ? null : ExitCode.ok });
    }
  }

  #failed(error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    const exitCode = toStartupRejection(error) === null ? exitCodeOf(error) : ExitCode.rejected;
    this.#enter("failed", { detail, exitCode, error });
  }

  #enter(state: HostState, more: Partial<AgentHostStatus> = {}): void {
    const before = this.#status.state;
    this.#status = { host: this.#host, state, detail: "", exitCode: null, error: null, ...more };
    this.#options.onState(this.#status, before);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) {
      look();
    }
  }

  /** Resolves when that run is over. */
  async #over(run: Run | null): Promise<void> {
    while (run !== null && this.#run === run) {
      await this.#change();
    }
  }

  /** Resolves when that run serves, or is over. */
  async #settled(run: Run | null): Promise<void> {
    while (run !== null && this.#run === run && !run.served) {
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
 * Hosts that start at a time: with more, what each asks of the control plane would be answered too late for all, and what they have under
 * way would be kept by the collector as if it were to last.
 */
const STARTING = 64;

/** Milliseconds after which one that still starts no longer keeps others from it: its driver may hang. */
const TURN = 2_000;

export interface HostsOptions {
  /** Makes one life of the host. @throws what its configuration lacks */
  readonly live: (host: string, onServing: () => void) => LiveHost;
  readonly timers: Timers;
  /** Hosts that start at a time. Default {@link STARTING}. */
  readonly starting?: number;
  /** Hears of each change. */
  readonly onState: (status: AgentHostStatus) => void;
  /**
   * Kills a process that has one host, together with the host. Default: the process outlives hosts that were stopped or killed, and
   * can start them again.
   */
  readonly killProcess?: () => void;
}

const LIVING: ReadonlySet<HostState> = new Set(["starting", "serving", "stopping"]);

/** The hosts of one agent process: each starts, stops, fails and is killed by itself. */
export class Hosts implements HostController {
  readonly #options: HostsOptions;
  readonly #hosts = new Map<string, PooledHost>();
  readonly #startQueue: TaskQueue;
  readonly #each: PooledHostOptions;
  readonly #idle: Promise<void>;
  #becomeIdle: () => void = () => {};
  #stopping = false;
  /** Counted with each change: to look through all hosts at each would take the more, the more there are. */
  #living = 0;
  #failed = 0;

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#startQueue = new TaskQueue(options.starting ?? STARTING);
    this.#each = {
      live: options.live,
      turn: (settled) => this.#turn(settled),
      onState: (status, before) => {
        this.#count(before, -1);
        this.#count(status.state, 1);
        options.onState(status);
        this.#look();
      },
    };
    this.#idle = new Promise((resolve) => {
      this.#becomeIdle = resolve;
    });
  }

  get standings(): readonly AgentHostStatus[] {
    return [...this.#hosts.values()].map(({ status }) => status);
  }

  /** Resolves when no host lives, and it is not for somebody to start one again. */
  get idle(): Promise<void> {
    return this.#idle;
  }

  /** The hosts whose agents live. */
  get liveHosts(): readonly LiveHost[] {
    return [...this.#hosts.values()].flatMap(({ life }) => life ?? []);
  }

  /** Starts hosts, known or not, but those that live. Resolves when each of them serves or has ended. */
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

  /** Drains all of them. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#hosts.values()].map((host) => host.stop()));
    this.#look();
  }

  /** Ends all of them as by `kill -9`, and starts none any more. Resolves when nothing of them is under way. */
  async cut(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#hosts.values()].map((host) => host.kill()));
    this.#look();
  }

  #count(state: HostState, by: 1 | -1): void {
    this.#living += LIVING.has(state) ? by : 0;
    this.#failed += state === "failed" ? by : 0;
  }

  #look(): void {
    const { size } = this.#hosts;
    const alone = this.#options.killProcess !== undefined && size === 1;
    const over = this.#stopping || alone || this.#failed === size;
    if (over && this.#living === 0) {
      this.#becomeIdle();
    }
  }

  #turn(settled: Promise<void>): Promise<void> {
    return new Promise((begin) => {
      void this.#startQueue.run(async () => {
        begin();
        await new Promise<void>((release) => {
          const cancel = this.#options.timers.after(TURN, release);
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
