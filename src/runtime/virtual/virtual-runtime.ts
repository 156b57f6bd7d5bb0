import type { LogFields } from "../logger.js";
import type { Runtime } from "../runtime.js";
import { VirtualFiles } from "./virtual-files.js";
import { VirtualHttp } from "./virtual-http.js";
import { type LogLevel, type LogRecord, VirtualLogger } from "./virtual-logger.js";
import type { VirtualMachine } from "./virtual-machine.js";
import type { VirtualProcess } from "./virtual-process.js";
import { VirtualRandom } from "./virtual-random.js";
import { VirtualServers } from "./virtual-servers.js";
import { VirtualSockets } from "./virtual-sockets.js";
import type { VirtualWorld } from "./virtual-world.js";

/** The runtime of one simulated process, and the controls that a test has over it. */
export interface VirtualRuntime extends Runtime {
  readonly name: string;
  readonly world: VirtualWorld;
  readonly machine: VirtualMachine;
  /** What this process logged. */
  readonly logs: readonly LogRecord[];
  readonly alive: boolean;
  /** As `kill -9`: no timer, answer or frame ever reaches it again; its sockets break with 1006; its disk stays. */
  kill(): void;
  /** {@link VirtualWorld.advance} */
  advance(milliseconds: number): Promise<void>;
  /** {@link VirtualWorld.runUntil} */
  runUntil: VirtualWorld["runUntil"];
}

/** For {@link VirtualWorld.spawn}. */
export function createProcessRuntime(parts: {
  readonly world: VirtualWorld;
  readonly process: VirtualProcess;
  readonly seed: string;
  readonly monotonic: () => number;
}): VirtualRuntime {
  const { world, process, seed, monotonic } = parts;
  const { machine } = process;
  const logs: LogRecord[] = [];
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
    kill: () => process.kill(),
    advance: (milliseconds) => world.advance(milliseconds),
    runUntil: world.runUntil.bind(world),
    clock: { now: () => world.now, monotonic },
    timers: process,
    random,
    http: new VirtualHttp(process, world.network),
    servers: new VirtualServers(process, world.network, () => requestIds.uuid()),
    sockets: new VirtualSockets(process, world.network),
    files: new VirtualFiles(process, () => world.now),
    processes: {
      pid: process.pid,
      machine: machine.identity,
      hostname: machine.hostname,
      isAlive: (pid) => machine.isAlive(pid),
    },
    logger: new VirtualLogger(keep),
  };
}
