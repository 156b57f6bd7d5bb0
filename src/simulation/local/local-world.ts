import type { Random } from "../../runtime/cryptography.js";
import type { HttpClient, HttpRequest, Transfers } from "../../runtime/http.js";
import type { Listener, ListenOptions, Servers } from "../../runtime/http-server.js";
import { createKillableRuntime } from "../../runtime/killable-runtime.js";
import { Lifetime } from "../../runtime/lifetime.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import type { Sockets } from "../../runtime/sockets.js";
import { VirtualHttp, VirtualTransfers } from "../virtual-http.js";
import { VirtualMachine } from "../virtual-machine.js";
import { VirtualNetwork } from "../virtual-network.js";
import { VirtualProcess } from "../virtual-process.js";
import { VirtualRandom } from "../virtual-random.js";
import { VirtualListener } from "../virtual-servers.js";
import { VirtualSockets } from "../virtual-sockets.js";
import { Activity, countedFiles, countedPrograms } from "./activity.js";
import { type LocalTime, type Planner, RealTime, VirtualTime } from "./local-time.js";

export interface LocalWorldOptions {
  /** The same seed gives the same names, tokens and random choices. Default: real randomness. */
  readonly seed?: number | string;
  readonly time: "real" | "virtual";
  /** Whether written files must survive a power loss. */
  readonly onDisk: boolean;
}

/** The offset of pids in a local world, larger than any pid of the machine. */
const PIDS = 2 ** 23;

/** A simulated process within this process. */
export interface LocalProcess {
  readonly runtime: Runtime;
  /** The same runtime, with a clock and timers that support skipping time. */
  readonly skippable: Runtime;
  /**
   * Kills the process as `kill -9` does: it receives nothing more. Resolves when the writes in progress are complete.
   */
  kill(): Promise<void>;
}

/**
 * Several simulated processes within this process. They use files, programs and listeners of the real machine, but an
 * internal network among themselves and optionally virtual time. Other processes reach their listeners over the real
 * network.
 */
export class LocalWorld {
  readonly activity = new Activity();
  readonly time: LocalTime;
  readonly #seed: string | undefined;
  readonly #network: VirtualNetwork<VirtualListener>;
  readonly #machine = new VirtualMachine("local");
  readonly #incarnations = new Map<string, number>();
  readonly #nodeRuntime: Runtime;
  readonly #logger: Logger;

  constructor(logger: Logger, { seed, time, onDisk }: LocalWorldOptions) {
    this.#seed = seed === undefined ? undefined : String(seed);
    this.#logger = logger;
    this.time = time === "virtual" ? new VirtualTime(this.activity) : new RealTime(this.activity);
    this.#nodeRuntime = { ...createNodeRuntime({ logger }), files: new NodeFiles({ onDisk }) };
    this.#network = new VirtualNetwork(
      (milliseconds, action) => this.time.plan(milliseconds, action),
      () => this.time.clock.monotonic(),
    );
  }

  /**
   * @param name selects the random numbers of the process; each spawn of a name gets different ones
   * @param options `isVisible`: the process uses the real pid, for external observers
   */
  spawn(name: string, { isVisible = false }: { readonly isVisible?: boolean } = {}): LocalProcess {
    const lifetime = new Lifetime();
    const process = this.#processOf(name, this.time);
    const { skippable } = this.time;
    const skipping = this.#processOf(name, skippable);
    const runtime = this.#runtimeOf(process, this.#randomOf(name), isVisible);
    return {
      runtime: createKillableRuntime(runtime, lifetime),
      skippable: createKillableRuntime({ ...runtime, clock: skippable.clock, timers: skipping }, lifetime),
      kill: async () => {
        process.kill();
        skipping.kill();
        lifetime.kill();
        await lifetime.quiet();
      },
    };
  }

  /** Cancels all planned events and closes connections to other processes of the machine. Kill the processes first. */
  async close(): Promise<void> {
    this.time.close();
    await this.#nodeRuntime.http.close();
  }

  #processOf(name: string, planner: Planner): VirtualProcess {
    const plan = (milliseconds: number, action: () => void) => planner.plan(milliseconds, action);
    return new VirtualProcess(name, this.#machine, { plan, delay: () => 0 });
  }

  #randomOf(name: string): Random {
    if (this.#seed === undefined) {
      return this.#nodeRuntime.random;
    }
    const incarnation = (this.#incarnations.get(name) ?? 0) + 1;
    this.#incarnations.set(name, incarnation);
    return new VirtualRandom(`${this.#seed}/${name}/${incarnation}`);
  }

  #runtimeOf(process: VirtualProcess, random: Random, isVisible: boolean): Runtime {
    const nodeRuntime = this.#nodeRuntime;
    const network = this.#network;
    const { activity } = this;
    const isLocal = (url: string): boolean => network.find(new URL(url)) !== undefined;
    return {
      ...nodeRuntime,
      clock: this.time.clock,
      timers: process,
      random,
      http: eitherHttp(new VirtualHttp(process, network), counted(nodeRuntime.http, activity), isLocal),
      transfers: eitherTransfers(new VirtualTransfers(process, network), nodeRuntime.transfers, isLocal),
      sockets: eitherSockets(new VirtualSockets(process, network), nodeRuntime.sockets, isLocal),
      servers: this.#serversOf(process, random),
      files: countedFiles(nodeRuntime.files, activity),
      modules: { load: (load) => activity.during(() => nodeRuntime.modules.load(load)) },
      processes: {
        ...nodeRuntime.processes,
        pid: isVisible ? nodeRuntime.processes.pid : PIDS + process.pid,
        isAlive: (pid) => (pid > PIDS ? this.#machine.isAlive(pid - PIDS) : nodeRuntime.processes.isAlive(pid)),
      },
      programs: countedPrograms(nodeRuntime.programs, activity),
      logger: this.#logger,
    };
  }

  /**
   * Creates listeners that are reached from within the world without sockets, and from outside over the real network.
   */
  #serversOf(process: VirtualProcess, random: Random): Servers {
    const listen = async (options: ListenOptions): Promise<Listener> => {
      const real = await this.#nodeRuntime.servers.listen(options);
      const { address, port, url } = real;
      const local = new VirtualListener(process, this.#network, { ...options, port }, () => random.uuid());
      const forget = process.onKill(() => void real.close(0));
      return {
        address,
        port,
        url,
        close: async (grace) => {
          forget();
          await Promise.all([local.close(grace), real.close(grace)]);
        },
      };
    };
    return { listen, afterArrivals: (action) => void this.activity.soon(action) };
  }
}

type IsLocal = (url: string) => boolean;

function counted(http: HttpClient, activity: Activity): HttpClient {
  return { request: (request) => activity.during(() => http.request(request)), close: () => http.close() };
}

function eitherHttp(local: HttpClient, real: HttpClient, isLocal: IsLocal): HttpClient {
  return {
    request: (request: HttpRequest) => (isLocal(request.url) ? local : real).request(request),
    // The world's HTTP client is shared by other processes.
    close: async () => undefined,
  };
}

function eitherTransfers(local: Transfers, real: Transfers, isLocal: IsLocal): Transfers {
  return { send: (transfer) => (isLocal(transfer.url) ? local : real).send(transfer) };
}

function eitherSockets(local: Sockets, real: Sockets, isLocal: IsLocal): Sockets {
  return { connect: (url, options) => (isLocal(url) ? local : real).connect(url, options) };
}
