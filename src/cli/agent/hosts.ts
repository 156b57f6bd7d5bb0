import type { ControlledHost, HostAction, HostState } from "../../conductor-client/methods/session.js";
import type { HostController } from "../../conductor-client/port.js";
import { TaskQueue } from "../../runtime/task-queue.js";
import type { Timers } from "../../runtime/time.js";
import { type AgentHostStatus, type LiveHost, PooledHost, type PooledHostOptions } from "./pooled-host.js";

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
