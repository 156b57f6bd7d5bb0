import { setImmediate } from "node:timers";
import { setTimeout as realSleep } from "node:timers/promises";
import type { LogFields, Modules, Runtime } from "../runtime/runtime.js";
import type { CancelTimer } from "../runtime/time.js";
import { Interleaving, Timeline } from "./timeline.js";
import { VirtualFiles } from "./virtual-files.js";
import { VirtualHttp, VirtualTransfers } from "./virtual-http.js";
import { type LogLevel, type LogRecord, VirtualLogger } from "./virtual-logger.js";
import { VirtualMachine } from "./virtual-machine.js";
import { VirtualNetwork } from "./virtual-network.js";
import { VirtualProcess } from "./virtual-process.js";
import { VirtualPrograms } from "./virtual-programs.js";
import { VirtualRandom } from "./virtual-random.js";
import { type VirtualListener, VirtualServers } from "./virtual-servers.js";
import { VirtualSockets, VirtualStreams } from "./virtual-sockets.js";

/** What the processes of a world load. That takes real time, and may not take any of the world's. */
class LoadingModules {
  readonly #loading = new Set<Promise<unknown>>();

  /** The modules door of a process. */
  of(process: VirtualProcess): Modules {
    return { load: (load) => process.whileAlive(() => this.#follow(load())) };
  }

  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** Resolves when nothing is being loaded any more; never rejects. */
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
  /** The same seed gives the same order of everything. Default 1. */
  readonly seed?: number | string;
  /** Milliseconds since the epoch at the beginning. Default 2026-01-01T00:00:00Z. */
  readonly start?: number;
  /** Milliseconds that a door may take at most; then the order of what is due at one moment is drawn, too. Default: no choices. */
  readonly interleave?: number;
}

/** @internal */
export interface SpawnOptions {
  /** Names the process in faults, partitions and log records, and its stream of randomness. Default `process-<n>`. */
  readonly name?: string;
  /** Default: one machine that all processes of the world share. */
  readonly machine?: VirtualMachine;
}

/** How many real milliseconds an idle world waits for real work (a password that is hashed) before it gives up. */
const REAL_WORK_TIMEOUT_MS = 10_000;

/** A turn of the real event loop. That of `node:timers/promises` costs twice as much, and there is one for each event. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Time, network and machines that several simulated processes share. Time moves only when a test moves it. @internal */
export class VirtualWorld {
  /** The machine of every process that is given none. */
  readonly machine = new VirtualMachine("virtual-host");
  readonly network: VirtualNetwork<VirtualListener>;
  /** What all processes logged, in order. */
  readonly logs: LogRecord[] = [];
  readonly #seed: string;
  readonly #start: number;
  readonly #timeline = new Timeline();
  readonly #modules = new LoadingModules();
  readonly #interleaving: Interleaving | null;
  readonly #incarnations = new Map<string, number>();
  #now: number;
  /** How far the time of day is from the time that has passed. */
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

  /** Sets the time of day of every machine forward, or back; no time passes, and monotonic clocks and timers do not notice. */
  jumpClock(milliseconds: number): void {
    this.#skew += Math.trunc(milliseconds);
  }

  /** Lets a machine's clock gain on the world's from now on, by so much in each millisecond; below 0: lose. */
  driftClock(machine: VirtualMachine, share: number): void {
    machine.driftClock(share, this.#now - this.#start);
  }

  /** Timers, deliveries and answers that are still to come. */
  get planned(): number {
    return this.#timeline.size;
  }

  /** A new process. One that was killed is started again by spawning its name once more: new pid, other randomness. */
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

  /** Lets `milliseconds` of virtual time pass and everything happen that is due in it. */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#now + milliseconds;
    await this.#run(target, () => false);
    this.#now = target;
  }

  /**
   * Lets time pass until the promise settles (returns or throws as it does) or the predicate is true.
   * @param options.limit most virtual milliseconds that may pass; default one hour.
   * @throws {GoalNotReached} when they passed, or when nothing is left that could happen.
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
      // Nothing is planned, but a test may wait for something that takes real time.
      await realSleep(1);
    }
  }

  /** Runs events until `reached`, which it returns, or until none is due at `deadline` or before. */
  async #run(deadline: number, reached: () => boolean): Promise<boolean> {
    if (this.#running) {
      throw new Error("virtual time is already being moved; await the first advance() or runUntil() before the next");
    }
    this.#running = true;
    try {
      // A turn of the real event loop lets every promise that is ready do its work before anything else happens.
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
    // Whole milliseconds, as Node's timers: the time of day is an integer everywhere.
    const at = this.#now + Math.max(0, Math.trunc(milliseconds));
    const event = this.#timeline.plan(at, action, this.#interleaving?.rank());
    return () => this.#timeline.cancel(event);
  }
}

/**
 * What {@link VirtualWorld.runUntil} waited for did not come.
 * @internal for tests
 */
export class GoalNotReached extends Error {
  override readonly name = "GoalNotReached";

  constructor(limit: number, planned: number) {
    super(
      planned > 0
        ? `the goal was not reached within ${limit} ms of virtual time; ${planned} events are still planned`
        : "the goal was not reached and nothing is planned that could bring it about",
    );
  }
}

/** The runtime of one simulated process, and the controls that a test has over it. */
export interface VirtualRuntime extends Runtime {
  readonly name: string;
  readonly world: VirtualWorld;
  readonly machine: VirtualMachine;
  /** What this process logged. */
  readonly logs: readonly LogRecord[];
  readonly alive: boolean;
  /** Doors that the process has come through. */
  readonly passed: number;
  /** {@link kill}, as soon as the process comes through its next door but `doors`. */
  killAfter(deliveries: number): void;
  /** As `kill -9`: no timer, answer or frame ever reaches it again; its sockets break with 1006; its disk stays. */
  kill(): void;
  /** Calls `action` when the process is killed; returns what forgets it. */
  onKill(action: () => void): () => void;
  /** {@link VirtualWorld.advance} */
  advance(milliseconds: number): Promise<void>;
  /** {@link VirtualWorld.runUntil} */
  runUntil: VirtualWorld["runUntil"];
}

/** For {@link VirtualWorld.spawn}. */
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

/** A world with one process in it. More processes: `runtime.world.spawn()`. */
export function createVirtualRuntime(options: WorldOptions = {}): VirtualRuntime {
  return new VirtualWorld(options).spawn();
}
