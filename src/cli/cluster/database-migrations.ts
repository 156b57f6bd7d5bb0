import { Command } from "commander";
import type { OnlineDataMigration } from "../../conductor-client/methods/conductor.js";
import type { Conductor } from "../../conductor-client/port.js";
import { integerIn } from "../ui/command-line.js";
import { ExitCode } from "../ui/exit-code.js";
import { type Column, renderTable } from "../ui/table.js";
import { inCluster, withStateDir } from "./cluster-command.js";
import { withOperatorSession } from "./operator-session.js";

/** Rows per transaction. */
const BATCH = 50;

/** Adds nova-manage's `online_data_migrations` to `manage db`. */
export function addOnlineDataMigrations(parent: Command, name = "online_data_migrations"): void {
  withStateDir(parent.command(name))
    .summary("Migrate records of older releases")
    .description(
      "Adds data that newer releases need to records of older ones: uuids of migrations. Exits with 1 while records remain.",
    )
    .option(
      "--max-count <n>",
      "maximum number of changed records of each kind (default: all)",
      integerIn(1, Number.MAX_SAFE_INTEGER, "a number of at least 1"),
    )
    .action(
      inCluster(async (context, { maxCount }: { readonly maxCount?: number }) => {
        const rows = await withOperatorSession(name, context, (session) => migrateAll(session, maxCount));
        context.terminal.print(renderTable(COLUMNS, rows, context.terminal.columns));
        return rows.some(({ needed, completed }) => completed < needed) ? ExitCode.failure : ExitCode.ok;
      }),
    );
}

/** Creates the former name of `manage db online_data_migrations`. */
export function formerDbCommand(): Command {
  const command = new Command("db").summary("The former name of `manage db`");
  addOnlineDataMigrations(command, "online-data-migrations");
  return command;
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
