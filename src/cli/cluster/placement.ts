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
    .summary("serve the Placement API alone, until Ctrl-C")
    .description(
      "Serves the Placement API without the rest of the cluster. The administrator's token is printed at the start; with " +
        "--auth-strategy noauth2 any USER[:PROJECT] is taken as a token, and `admin` may do everything. Without --database " +
        "all is forgotten at the end.",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <n>", "port to listen on; 0: any free one", portNumber, 8778)
    .option("--database <file>", "SQLite file to keep the state in")
    .addOption(
      new Option(
        "--auth-strategy <name>",
        "who is let in (default: [api] auth_strategy of --config-file, else token)",
      ).choices(["token", "noauth2"]),
    )
    .option(
      "--server-name <name>",
      "a name under which clients reach it, for their Host header; repeatable",
      collect,
      [],
    )
    .addOption(logOptions.requests())
    .addOption(logOptions.format("of the log on standard error").default("pretty"))
    .option("--config-file <file>", "placement.conf: [api], [cors], [oslo_policy], [placement], [placement_database]")
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
