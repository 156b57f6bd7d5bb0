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
  /** How HTTPS connects. Default: certificates are checked against the system's authorities. */
  readonly tls?: HttpTls;
  /** Servers that are checked otherwise, WebSockets among them. */
  readonly trusted?: TrustedServers;
  /** TLS of requests that name a section of the configuration, by its name. */
  readonly tlsSections?: ReadonlyMap<string, HttpTls>;
}

/** The real doors. */
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
