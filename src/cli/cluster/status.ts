import { Command } from "commander";
import { openCloudSession } from "../../cluster/local/cloud-session.js";
import { clusterStatus, type HostStatus } from "../../cluster/local/cluster-status.js";
import { DEFAULT_STATE_DIR, stateDir } from "../../cluster/local/state-dir.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/quiet-logger.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";

export const statusCommand = (): Command =>
  new Command("status")
    .summary("hosts, providers, usages and servers, in one table")
    .description(
      "Asks the Compute API and Placement what they know of every host. A provider that no host answers for is shown too.",
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--json", "the same as JSON")
    .action(async (options: { stateDir: string; json?: true }) => {
      const terminal = createTerminal();
      const runtime = createNodeRuntime({ logger: quietLogger });
      try {
        const directory = stateDir(options.stateDir, process.cwd());
        const rows = await clusterStatus(await openCloudSession(runtime.files, runtime.http, directory));
        terminal.print(
          options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns),
        );
      } finally {
        await runtime.http.close();
      }
      process.exitCode = ExitCode.ok;
    });

const usage = (row: HostStatus, resourceClass: string): string => {
  const found = row.provider?.usages[resourceClass];
  return found === undefined ? "-" : `${found.used}/${found.capacity}`;
};

const service = (row: HostStatus): string => {
  if (row.service === null) return "none";
  const marks = [row.service.forcedDown ? "forced down" : row.service.state];
  if (row.service.status === "disabled") marks.push("disabled");
  return marks.join(", ");
};

const COLUMNS: readonly Column<HostStatus>[] = [
  { title: "Host", value: (row) => row.host ?? "-" },
  { title: "Service", value: service },
  {
    title: "Provider (gen.)",
    value: (row) => (row.provider ? `${row.provider.name} (${row.provider.generation})` : "-"),
  },
  { title: "VCPU", value: (row) => usage(row, "VCPU"), align: "right" },
  { title: "MEMORY_MB", value: (row) => usage(row, "MEMORY_MB"), align: "right" },
  { title: "DISK_GB", value: (row) => usage(row, "DISK_GB"), align: "right" },
  {
    title: "Servers",
    value: (row) => row.servers.map((server) => `${server.name} ${server.status}`).join("\n") || "-",
  },
];
