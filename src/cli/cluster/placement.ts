import { resolve } from "node:path";
import { Command } from "commander";
import { startPlacement } from "../../cluster/placement/standalone.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeLogger } from "../../runtime/node/node-logger.js";
import { nodeRandom } from "../../runtime/node/node-random.js";
import { NodeServers } from "../../runtime/node/node-servers.js";
import { portNumber } from "../ui/port-number.js";
import { createTerminal } from "../ui/terminal.js";
import { untilTold } from "../ui/until-told.js";

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
    .option("--port <n>", "port to listen on; 0: any free one", portNumber, 8778)
    .option("--database <file>", "SQLite file to keep the state in")
    .option("--config-file <file>", "placement.conf: [cors], [oslo_policy], [placement], [placement_database]")
    .action(serve);

async function serve({ host, port, database, configFile }: PlacementCommandOptions): Promise<void> {
  const told = untilTold();
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
  await told;
  await placement.close();
}
