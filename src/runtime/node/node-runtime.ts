import type { Logger } from "../logger.js";
import type { Runtime } from "../runtime.js";
import { nodeClock } from "./node-clock.js";
import { NodeFiles } from "./node-files.js";
import { nodeProcesses } from "./node-processes.js";
import { nodeRandom } from "./node-random.js";
import { NodeServers } from "./node-servers.js";
import { nodeSockets } from "./node-sockets.js";
import { nodeTimers } from "./node-timers.js";
import { type HttpTls, UndiciHttpClient } from "./undici-http-client.js";

export interface NodeRuntimeOptions {
  readonly logger: Logger;
  /** HTTP connections per origin. Default 32. */
  readonly connections?: number;
  /** Of HTTPS. Default: certificates are checked against the system's authorities. */
  readonly tls?: HttpTls;
}

/** The real doors. */
export function createNodeRuntime(options: NodeRuntimeOptions): Runtime {
  const { logger, ...http } = options;
  return {
    clock: nodeClock(),
    timers: nodeTimers(),
    random: nodeRandom(),
    http: new UndiciHttpClient(http),
    servers: new NodeServers(logger),
    sockets: nodeSockets(logger),
    files: new NodeFiles(),
    processes: nodeProcesses(),
    logger,
  };
}
