import { dryRun } from "../../agent/dry-run/dry-run.js";
import type { DryRunReport } from "../../agent/dry-run/report.js";
import { NO_METRICS } from "../../agent/metrics/metrics.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode } from "../ui/exit-code.js";
import { withFormerNames } from "../ui/former-names.js";
import { renderTable } from "../ui/table.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { agentTls, connect, reportClient, tlsOptionsOf } from "./connect.js";
import { DriverGuard } from "./driver-guard.js";
import { loadConfig } from "./load-config.js";
import { type AgentCommandOptions, serviceVersionOf } from "./options.js";

/**
 * Prints what start-up would do. The exit code is 3 if start-up would be rejected, or if Placement contradicts the host's
 * nodes.
 */
export async function printDryRun(options: AgentCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const logger = createLogger({ level: options.debug === true ? "debug" : "warn", format: options.logFormat });
  const files = new NodeFiles();
  const loaded = await loadConfig(options, files, new DriverGuard("compute-agent"));
  const { compiled, driver, driverConfig, configFiles, directory, changeDriver } = loaded;
  const runtime = createNodeRuntime({ logger, ...(await agentTls(compiled.config, files, tlsOptionsOf(loaded))) });
  for (const { message } of compiled.warnings) {
    terminal.complain(`warning: ${message}`);
  }
  const { config } = compiled;
  const abort = new AbortController();
  process.once("SIGINT", () => abort.abort());
  const connection = await connect(config, directory, runtime, abort.signal, { lookOnly: true });
  try {
    const session = connection.host(config.defaults.host, { lease: false });
    const report = await dryRun({
      host: config.defaults.host,
      config,
      configFiles,
      runtime,
      session,
      driver,
      driverConfig,
      changeDriver,
      placement: reportClient(config, runtime, session, NO_METRICS),
      serviceVersion: serviceVersionOf(options) ?? connection.serviceVersion,
    });
    if (options.json === true) {
      terminal.print(JSON.stringify(withFormerNames(report, { rejection: "refusal", hint: "mend" }), null, 2));
    } else {
      printReport(report, terminal);
    }
    return report.rejection === null && report.providerConflicts.length === 0 ? ExitCode.ok : ExitCode.rejected;
  } finally {
    await connection.close();
    await runtime.http.close();
  }
}

function printReport(report: DryRunReport, terminal: Terminal): void {
  const { rejection, lease, providerConflicts, guests, allocations, instances, migrations } = report;
  if (lease !== null) {
    const effect =
      lease.freeIn === null
        ? "is rejected while it is running"
        : `waits ${Math.ceil(lease.freeIn / 1000)} s for it to reconnect`;
    terminal.complain(
      `Another agent holds host ${report.host}: pid ${lease.pid} on machine ${lease.machine}; a start ${effect}.`,
    );
  }
  if (rejection !== null) {
    terminal.complain(`${report.host} would not start (${rejection.code}): ${rejection.found}.`);
    if (rejection.hint !== "") {
      terminal.complain(`To fix it: ${rejection.hint}`);
    }
    return;
  }
  for (const { found, hint } of providerConflicts) {
    terminal.complain(`${report.host} would start, but could not update Placement: ${found}.`);
    terminal.complain(`To fix it: ${hint}`);
  }
  if (guests.length + allocations.length + instances.length + migrations.length === 0) {
    terminal.print(`A start of ${report.host} would change nothing.`);
    return;
  }
  terminal.print(`A start of ${report.host} would do the following; nothing was done.`);
  section(terminal, "Guests", guests, [
    { title: "Instance", value: (row) => `${row.instance}\n${row.name}` },
    { title: "Action", value: (row) => row.action },
    { title: "Disks", value: (row) => row.disks ?? "-" },
    { title: "Because", value: (row) => row.reason },
  ]);
  section(terminal, "Allocations", allocations, [
    { title: "Consumer", value: (row) => `${row.consumerType}\n${row.consumer}` },
    { title: "Before", value: (row) => held(row.before, row.providers) },
    { title: "After", value: (row) => held(row.after, row.providers) },
    { title: "Because", value: (row) => row.reason },
  ]);
  section(terminal, "Instances", instances, [
    { title: "Instance", value: (row) => `${row.instance}\n${row.name}` },
    { title: "Change", value: (row) => change(row.action, row.changes) },
    { title: "Because", value: (row) => row.reason },
  ]);
  section(terminal, "Migrations", migrations, [
    { title: "Id", value: (row) => String(row.migration), align: "right" },
    { title: "Instance", value: (row) => row.instance },
    { title: "Status", value: (row) => (row.from === row.to ? `${row.from} (kept)` : `${row.from} → ${row.to}`) },
    { title: "Because", value: (row) => row.reason },
  ]);
}

function section<Row>(
  terminal: Terminal,
  title: string,
  rows: readonly Row[],
  columns: Parameters<typeof renderTable<Row>>[0],
): void {
  if (rows.length === 0) {
    return;
  }
  terminal.print(`\n${terminal.colors.bold(title)}`);
  terminal.print(renderTable(columns, rows, terminal.columns));
}

function held(
  allocations: DryRunReport["allocations"][number]["before"],
  names: Readonly<Record<string, string>>,
): string {
  return (
    Object.entries(allocations)
      .map(([provider, { resources }]) => {
        const amounts = Object.entries(resources).map(([resourceClass, amount]) => `${resourceClass}=${amount}`);
        return [`${names[provider] ?? provider}:`, ...amounts.map((amount) => `  ${amount}`)].join("\n");
      })
      .join("\n") || "nothing"
  );
}

function change(action: string | null, changes: object): string {
  return [
    ...(action === null ? [] : [action]),
    ...Object.entries(changes).map(([name, value]) => `${name} = ${value}`),
  ].join("\n");
}
