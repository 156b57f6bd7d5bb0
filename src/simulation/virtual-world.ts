import { setImmediate } from "node:timers";
import { setTimeout as realSleep } from "node:timers/promises";
import type { LogLevel } from "../runtime/level-logger.js";
import type { LogFields, Modules, Runtime } from "../runtime/runtime.js";
import type { CancelTimer } from "../runtime/time.js";
import { Interleaving, Timeline } from "./timeline.js";
import { VirtualFiles } from "./virtual-files.js";
import { VirtualHttp, VirtualTransfers } from "./virtual-http.js";
import { type LogRecord, VirtualLogger } from "./virtual-logger.js";
import { VirtualMachine } from "./virtual-machine.js";
import { VirtualNetwork } from "./virtual-network.js";
import { VirtualProcess } from "./virtual-process.js";
import { VirtualPrograms } from "./virtual-programs.js";
import { VirtualRandom } from "./virtual-random.js";
import { type VirtualListener, VirtualServers } from "./virtual-servers.js";
import { VirtualSockets, VirtualStreams } from "./virtual-sockets.js";

/** Tracks the modules that the processes of a world load. Loading takes real time but must not take virtual time. */
class LoadingModules {
  readonly #loading = new Set<Promise<unknown>>();

  /** Returns the module loader of a process. */
  of(process: VirtualProcess): Modules {
    return { load: (load) => process.whileAlive(() => this.#follow(load())) };
  }

  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** Resolves when no module is being loaded; never rejects. */
  async loaded(): Promise<void> {
    while (this.#loading.size > 0) {
      await Promise.allSettled(this.#loading);
    }
  }

  #follow<T>(loading: Promise<T>): Promise<T> {
    this.#loading.add(loading);
    const forget = () => this.#loading.delete(loading);
    loading.then(forget, forget);
    return loading;
  }
}

interface WorldOptions {
  /** The same seed gives the same order of all events. Default 1. */
  readonly seed?: number | string;
  /** The initial time in milliseconds since the epoch. Default 2026-01-01T00:00:00Z. */
  readonly start?: number;
  /**
   * Max latency of an I/O operation in milliseconds. If set, the order of events at the same time is random as well.
   * Default: fixed order, no latency.
   */
  readonly interleave?: number;
}

/** @internal */
export interface SpawnOptions {
  /**
   * The name of the process in faults, partitions and log records; also selects its random numbers. Default
   * `process-<n>`.
   */
  readonly name?: string;
  /** Default: a machine that the processes of the world share. */
  readonly machine?: VirtualMachine;
}

/** Real milliseconds that an idle world waits for real work, such as hashing a password, before it gives up. */
const REAL_WORK_TIMEOUT_MS = 10_000;

/**
 * Waits for a tick of the real event loop. Its equivalent in `node:timers/promises` takes twice as long, and every
 * event needs one.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * The time, network and machines that several simulated processes share. Time passes only when a test advances it.
 * @internal
 */
export class VirtualWorld {
  /** The default machine of processes. */
  readonly machine = new VirtualMachine("virtual-host");
  readonly network: VirtualNetwork<VirtualListener>;
  /** The log records of all processes, in order. */
  readonly logs: LogRecord[] = [];
  readonly #seed: string;
  readonly #start: number;
  readonly #timeline = new Timeline();
  readonly #modules = new LoadingModules();
  readonly #interleaving: Interleaving | null;
  readonly #incarnations = new Map<string, number>();
  #now: number;
  /** The offset of the time of day from the elapsed time. */
  #skew = 0;
  #spawned = 0;
  #running = false;

  constructor(options: WorldOptions = {}) {
    this.#seed = String(options.seed ?? 1);
    this.#start = options.start ?? Date.UTC(2026, 0, 1);
    this.#now = this.#start;
    const { interleave } = options;
    this.#interleaving =
      interleave === undefined ? null : new Interleaving({ seed: `${this.#seed}/interleaving`, most: interleave });
    this.network = new VirtualNetwork(
      (milliseconds, action) => this.#plan(milliseconds, action),
      () => this.#now,
      () => this.#interleaving?.delay() ?? 0,
    );
  }

  /** The time of day in milliseconds since the epoch. */
  get now(): number {
    return this.#now + this.#skew;
  }

  /** Changes the time of day of all machines. No time passes; monotonic clocks and timers are not affected. */
  jumpClock(milliseconds: number): void {
    this.#skew += Math.trunc(milliseconds);
  }

  /** Makes a machine's clock gain `share` milliseconds per millisecond from now on; negative: lose. */
  driftClock(machine: VirtualMachine, share: number): void {
    machine.driftClock(share, this.#now - this.#start);
  }

  /** The number of pending timers, deliveries and responses. */
  get planned(): number {
    return this.#timeline.size;
  }

  /**
   * Creates a process. To restart a killed process, spawn its name again: it gets a new pid and other random numbers.
   */
  spawn(options: SpawnOptions = {}): VirtualRuntime {
    this.#spawned += 1;
    const name = options.name ?? `process-${this.#spawned}`;
    const incarnation = (this.#incarnations.get(name) ?? 0) + 1;
    this.#incarnations.set(name, incarnation);
    const process = new VirtualProcess(name, options.machine ?? this.machine, {
      plan: (milliseconds, action) => this.#plan(milliseconds, action),
      delay: () => this.#interleaving?.delay() ?? 0,
    });
    return createProcessRuntime({
      world: this,
      process,
      modules: this.#modules.of(process),
      seed: `${this.#seed}/${name}/${incarnation}`,
      monotonic: () => this.#now - this.#start,
    });
  }

  /** Advances virtual time by `milliseconds` and runs everything due in it. */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#now + milliseconds;
    await this.#run(target, () => false);
    this.#now = target;
  }

  /**
   * Advances time until the promise settles, or until the predicate is true. Returns or throws as the promise does.
   * @param options.limit max virtual milliseconds; default one hour.
   * @throws {GoalNotReached} when the limit has passed or no event is left.
   */
  async runUntil(goal: () => boolean, options?: { readonly limit?: number }): Promise<void>;
  async runUntil<T>(goal: PromiseLike<T>, options?: { readonly limit?: number }): Promise<T>;
  async runUntil<T>(
    goal: PromiseLike<T> | (() => boolean),
    options: { readonly limit?: number } = {},
  ): Promise<T | undefined> {
    const limit = options.limit ?? 3_600_000;
    if (typeof goal === "function") {
      await this.#runTo(goal, limit);
      return undefined;
    }
    let settled = false;
    const settle = () => {
      settled = true;
    };
    goal.then(settle, settle);
    await this.#runTo(() => settled, limit);
    return goal;
  }

  async #runTo(reached: () => boolean, limit: number): Promise<void> {
    const deadline = this.#now + limit;
    for (let waited = 0; !(await this.#run(deadline, reached)); waited += 1) {
      if (this.#timeline.size > 0 || waited >= REAL_WORK_TIMEOUT_MS) {
        throw new GoalNotReached(limit, this.#timeline.size);
      }
      // No event is planned, but the goal may depend on something that takes real time.
      await realSleep(1);
    }
  }

  /** Runs events until `reached` is true, and returns true, or until none is due by `deadline`. */
  async #run(deadline: number, reached: () => boolean): Promise<boolean> {
    if (this.#running) {
      throw new Error(
        "virtual time is already being advanced; await the first advance() or runUntil() before the next",
      );
    }
    this.#running = true;
    try {
      // A tick of the real event loop lets all settled promises continue before the next event.
      await nextTurn();
      while (!reached()) {
        if (this.#modules.isLoading) {
          await this.#modules.loaded();
          await nextTurn();
          continue;
        }
        const event = this.#timeline.take(deadline);
        if (!event) {
          return false;
        }
        this.#now = event.at;
        event.action();
        await nextTurn();
      }
      return true;
    } finally {
      this.#running = false;
    }
  }

  #plan(milliseconds: number, action: () => void): CancelTimer {
    // Integer milliseconds, as in Node's timers: the time of day is an integer everywhere.
    const at = this.#now + Math.max(0, Math.trunc(milliseconds));
    const event = this.#timeline.plan(at, action, this.#interleaving?.rank());
    return () => this.#timeline.cancel(event);
  }
}

/**
 * The goal of {@link VirtualWorld.runUntil} was not reached.
 * @internal for tests
 */
export class GoalNotReached extends Error {
  override readonly name = "GoalNotReached";

  constructor(limit: number, planned: number) {
    super(
      planned > 0
        ? `the goal was not reached within ${limit} ms of virtual time; ${planned} events are still planned`
        : "the goal was not reached and no event is planned",
    );
  }
}

/** The runtime of one simulated process, with controls for tests. */
export interface VirtualRuntime extends Runtime {
  readonly name: string;
  readonly world: VirtualWorld;
  readonly machine: VirtualMachine;
  /** The log records of this process. */
  readonly logs: readonly LogRecord[];
  readonly alive: boolean;
  /** The number of I/O deliveries to the process so far. */
  readonly passed: number;
  /** Calls {@link kill} at the delivery that follows the next `deliveries` ones. */
  killAfter(deliveries: number): void;
  /**
   * Kills the process as `kill -9` does: no timer, response or frame reaches it again. Its sockets break with 1006; its
   * disk remains.
   */
  kill(): void;
  /** Calls `action` when the process is killed. Returns a function that removes it. */
  onKill(action: () => void): () => void;
  /** Like {@link VirtualWorld.advance}. */
  advance(milliseconds: number): Promise<void>;
  /** Like {@link VirtualWorld.runUntil}. */
  runUntil: VirtualWorld["runUntil"];
}

/** Creates the runtime for {@link VirtualWorld.spawn}. */
function createProcessRuntime(parts: {
  readonly world: VirtualWorld;
  readonly process: VirtualProcess;
  readonly modules: Modules;
  readonly seed: string;
  readonly monotonic: () => number;
}): VirtualRuntime {
  const { world, process, modules, seed, monotonic } = parts;
  const { machine } = process;
  const logs: LogRecord[] = [];
  const now = () => machine.timeOfDay(world.now, monotonic());
  const keep = (level: LogLevel, message: string, fields: LogFields) => {
    const record = { time: world.now, process: process.name, level, message, fields };
    logs.push(record);
    world.logs.push(record);
  };
  const random = new VirtualRandom(seed);
  const requestIds = new VirtualRandom(`${seed}/request-ids`);
  return {
    name: process.name,
    world,
    machine,
    logs,
    get alive() {
      return process.alive;
    },
    get passed() {
      return process.passed;
    },
    killAfter: (deliveries) => process.killAfter(deliveries),
    kill: () => process.kill(),
    onKill: (action) => process.onKill(action),
    advance: (milliseconds) => world.advance(milliseconds),
    runUntil: world.runUntil.bind(world),
    clock: { now, monotonic },
    timers: process,
    random,
    http: new VirtualHttp(process, world.network),
    transfers: new VirtualTransfers(process, world.network),
    servers: new VirtualServers(process, world.network, () => requestIds.uuid()),
    sockets: new VirtualSockets(process, world.network),
    streams: new VirtualStreams(process),
    files: new VirtualFiles(process, now),
    modules,
    processes: {
      pid: process.pid,
      machine: machine.identity,
      hostname: machine.hostname,
      isAlive: (pid) => machine.isAlive(pid),
    },
    programs: new VirtualPrograms(process),
    logger: new VirtualLogger(keep),
  };
}

/** Creates a world with one process. For more processes: `runtime.world.spawn()`. */
export function createVirtualRuntime(options: WorldOptions = {}): VirtualRuntime {
  return new VirtualWorld(options).spawn();
}
