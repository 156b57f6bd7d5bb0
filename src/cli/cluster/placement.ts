import { hostname } from "node:os";
import { resolve } from "node:path";

import { Command, Option } from "commander";
import { startPlacement } from "../../control-plane/placement/standalone.js";
import { nodeClock, nodeModules } from "../../runtime/node/node-builtins.js";
import { nodeRandom } from "../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { NodeServers } from "../../runtime/node/node-servers.js";
import { collect, portNumber } from "../ui/command-line.js";
import { createLogger } from "../ui/create-logger.js";
import { waitForShutdown } from "../ui/process-lifecycle.js";
import { createTerminal } from "../ui/terminal.js";
import { logOptions } from "./start-options.js";

interface PlacementCommandOptions {
  readonly host: string;
  readonly port: number;
  readonly database?: string;
  readonly configFile?: string;
  readonly authStrategy?: "noauth2" | "token";
  readonly serverName: readonly string[];
  readonly logRequests?: true;
  readonly logFormat: "pretty" | "json";
}

export function placementCommand(): Command {
  return new Command("placement")
    .summary("Serve only the Placement API, until Ctrl-C")
    .description(
      "Serves the Placement API without the rest of the cluster, and prints the administrator's token at the start. With " +
        "--auth-strategy noauth2, any USER[:PROJECT] is a valid token, and `admin` has all permissions.",
    )
    .option("--host <address>", "IP address of the listener", "127.0.0.1")
    .option("--port <n>", "port of the listener; 0: any free port", portNumber, 8778)
    .option("--database <file>", "SQLite file for the state (default: the state is in memory and lost at the end)")
    .addOption(
      new Option(
        "--auth-strategy <name>",
        "authentication of clients (default: [api] auth_strategy of --config-file, otherwise token)",
      ).choices(["token", "noauth2"]),
    )
    .option(
      "--server-name <name>",
      "name at which clients reach the service, for their Host header; repeatable",
      collect,
      [],
    )
    .addOption(logOptions.requests())
    .addOption(logOptions.format("format of the log on standard error").default("pretty"))
    .option(
      "--config-file <file>",
      "placement.conf file, with [api], [cors], [oslo_policy], [placement], [placement_database]",
    )
    .action(serve);
}

async function serve({ host, port, database, configFile, ...options }: PlacementCommandOptions): Promise<void> {
  const shutdownRequested = waitForShutdown();
  const logRequests = options.logRequests === true;
  const logger = createLogger({ level: logRequests ? "info" : "warn", format: options.logFormat });
  const placement = await startPlacement({
    host,
    port,
    ...(database === undefined ? {} : { database: resolve(database) }),
    ...(configFile === undefined ? {} : { configFile: resolve(configFile) }),
    ...(options.authStrategy === undefined ? {} : { authStrategy: options.authStrategy }),
    logRequests,
    serverNames: [hostname(), ...options.serverName],
    runtime: {
      clock: nodeClock(),
      random: nodeRandom(),
      logger,
      files: new NodeFiles(),
      modules: nodeModules(),
      servers: new NodeServers(logger),
    },
  });
  const terminal = createTerminal();
  if (placement.token !== undefined) {
    terminal.print(`token of the administrator: ${placement.token}`);
  }
  terminal.print(`placement ready at ${placement.url}`);
  await shutdownRequested;
  await placement.close();
}
