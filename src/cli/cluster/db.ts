import { Command, InvalidArgumentError } from "commander";
import type { OnlineDataMigration } from "../../conductor-client/methods/conductor.js";
import type { Conductor } from "../../conductor-client/port.js";
import { DEFAULT_STATE_DIR, stateDir } from "../../control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { withOperatorSession } from "./operator-session.js";

/** Rows per transaction. */
const BATCH = 50;

interface MigrateOptions {
  readonly stateDir: string;
  readonly maxCount?: number;
}

export function dbCommand(): Command {
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
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError("expected a number of at least 1.");
  }
  return value;
}

async function migrate({ stateDir: folder, maxCount }: MigrateOptions): Promise<number> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const place = { runtime, directory: stateDir(folder, process.cwd()) };
  const rows = await withOperatorSession("online-data-migrations", place, (session) => migrateAll(session, maxCount));
  const terminal = createTerminal();
  terminal.print(renderTable(COLUMNS, rows, terminal.columns));
  return rows.some(({ needed, completed }) => completed < needed) ? ExitCode.failure : ExitCode.ok;
}

async function migrateAll(conductor: Conductor, maxCount?: number): Promise<readonly OnlineDataMigration[]> {
  const total = new Map<string, OnlineDataMigration>();
  for (let left = maxCount ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const done = await conductor.call("online_data_migrations", { limit: Math.min(left, BATCH) });
    for (const { name, needed, completed } of done) {
      const before = total.get(name);
      total.set(name, { name, needed: before?.needed ?? needed, completed: (before?.completed ?? 0) + completed });
    }
    const most = Math.max(...done.map(({ completed }) => completed));
    if (most === 0) {
      break;
    }
    left -= most;
  }
  return [...total.values()];
}

const COLUMNS: readonly Column<OnlineDataMigration>[] = [
  { title: "Migration", value: ({ name }) => name },
  { title: "Total Needed", value: ({ needed }) => String(needed), align: "right" },
  { title: "Completed", value: ({ completed }) => String(completed), align: "right" },
];
