import type { Logger, Runtime } from "../runtime.js";
import { nodeClock, nodeModules, nodeTimers } from "./node-builtins.js";
import { nodeRandom } from "./node-cryptography.js";
import { NodeFiles } from "./node-files.js";
import { NodePrograms, nodeProcesses } from "./node-processes.js";
import { NodeServers } from "./node-servers.js";
import { nodeSockets } from "./node-sockets.js";
import { nodeStreams } from "./node-streams.js";
import { type HttpTls, type TrustedServers, UndiciHttpClient } from "./undici-http-client.js";

export interface NodeRuntimeOptions {
  readonly logger: Logger;
  /** HTTP connections per origin. Default 32. */
  readonly connections?: number;
  /** TLS options of HTTPS connections. Default: certificates are verified against the system's CAs. */
  readonly tls?: HttpTls;
  /** Servers with TLS options of their own, also for WebSockets. */
  readonly trusted?: TrustedServers;
  /** TLS options by section of the configuration, for requests that name a section. */
  readonly tlsSections?: ReadonlyMap<string, HttpTls>;
}

/** Creates the interfaces to the real operating system and network. */
export function createNodeRuntime(options: NodeRuntimeOptions): Runtime {
  const { logger, ...connection } = options;
  const http = new UndiciHttpClient(connection);
  return {
    clock: nodeClock(),
    timers: nodeTimers(),
    random: nodeRandom(),
    http,
    transfers: http,
    servers: new NodeServers(logger),
    sockets: nodeSockets(logger, options.trusted),
    streams: nodeStreams(),
    files: new NodeFiles(),
    modules: nodeModules(),
    processes: nodeProcesses(),
    programs: new NodePrograms(),
    logger,
  };
}
