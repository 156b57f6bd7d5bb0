import { Command, InvalidArgumentError } from "commander";
import { conductorUrl, DEFAULT_STATE_DIR, readClusterInfo, stateDir } from "../../cluster/local/state-dir.js";
import { connectToConductor } from "../../conductor/connect-to-conductor.js";
import type { OnlineDataMigration } from "../../conductor/methods.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/quiet-logger.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { version } from "../ui/version.js";

/** Milliseconds that a control plane that is there may take. */
const PATIENCE = 10_000;
/** Rows that one transaction changes. */
const BATCH = 50;

interface MigrateOptions {
  readonly stateDir: string;
  readonly maxCount?: number;
}

export const dbCommand = (): Command => {
  const command = new Command("db").summary("look after the state of record of a running cluster");
  command
    .command("online-data-migrations")
    .description(
      "give records of older releases what newer ones need: uuids of migrations. Exits with 1 while some are left.",
    )
    .option("--max-count <n>", "records of each kind that are changed (default: all)", count)
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .action(async (options: MigrateOptions) => {
      process.exitCode = await migrate(options);
    });
  return command;
};

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("expected a number of at least 1.");
  return value;
}

const migrate = async ({ stateDir: folder, maxCount }: MigrateOptions): Promise<number> => {
  const terminal = createTerminal();
  const runtime = createNodeRuntime({ logger: quietLogger });
  const directory = stateDir(folder, process.cwd());
  const info = await readClusterInfo(runtime.files, directory);
  const joinToken = (await runtime.files.readIfPresent(directory.joinTokenFile))?.trim();
  if (info === undefined || joinToken === undefined) {
    terminal.complain(`compute-cluster: ${directory.root} has no cluster; name its folder with --state-dir`);
    return ExitCode.failure;
  }
  const connection = connectToConductor({
    url: conductorUrl(info),
    joinToken,
    runtime,
    version: version(),
    giveUpAfter: PATIENCE,
  });
  try {
    await connection.connected();
    const session = connection.host("online-data-migrations", { lease: false });
    const total = new Map<string, OnlineDataMigration>();
    for (let left = maxCount ?? Number.POSITIVE_INFINITY; left > 0; ) {
      const done = await session.call("online_data_migrations", { limit: Math.min(left, BATCH) });
      for (const { name, needed, completed } of done) {
        const before = total.get(name);
        total.set(name, { name, needed: before?.needed ?? needed, completed: (before?.completed ?? 0) + completed });
      }
      const most = Math.max(...done.map(({ completed }) => completed));
      if (most === 0) break;
      left -= most;
    }
    const rows = [...total.values()];
    terminal.print(renderTable(COLUMNS, rows, terminal.columns));
    return rows.some(({ needed, completed }) => completed < needed) ? ExitCode.failure : ExitCode.ok;
  } finally {
    await connection.close();
  }
};

const COLUMNS: readonly Column<OnlineDataMigration>[] = [
  { title: "Migration", value: ({ name }) => name },
  { title: "Total Needed", value: ({ needed }) => String(needed), align: "right" },
  { title: "Completed", value: ({ completed }) => String(completed), align: "right" },
];
