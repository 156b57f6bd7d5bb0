import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { startPlacement } from "../../cluster/placement/standalone.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeLogger } from "../../runtime/node/node-logger.js";
import { nodeRandom } from "../../runtime/node/node-random.js";
import { NodeServers } from "../../runtime/node/node-servers.js";
import { createTerminal } from "../ui/terminal.js";

interface PlacementCommandOptions {
  readonly host: string;
  readonly port: number;
  readonly database?: string;
  readonly configFile?: string;
}

export const placementCommand = (): Command =>
  new Command("placement")
    .summary("serve the Placement API alone, until Ctrl-C")
    .description(
      "Serves the Placement API without the rest of the cluster. Any token USER[:PROJECT] is taken; that of the user " +
        "`admin` may do everything. Without --database all is forgotten at the end.",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <n>", "port to listen on; 0: any free one", port, 8778)
    .option("--database <file>", "SQLite file to keep the state in")
    .option("--config-file <file>", "placement.conf: [cors], [oslo_policy], [placement], [placement_database]")
    .action(serve);

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new InvalidArgumentError("expected 0 to 65535.");
  return value;
}

async function serve({ host, port, database, configFile }: PlacementCommandOptions): Promise<void> {
  const logger = createNodeLogger({ level: "warn" });
  const placement = await startPlacement({
    host,
    port,
    ...(database === undefined ? {} : { database: resolve(database) }),
    ...(configFile === undefined ? {} : { configFile: resolve(configFile) }),
    runtime: {
      clock: nodeClock(),
      random: nodeRandom(),
      logger,
      files: new NodeFiles(),
      servers: new NodeServers(logger),
    },
  });
  createTerminal().print(`placement ready at ${placement.url}`);
  const stop = () => void placement.close();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}
