import type { Command } from "commander";
import { version } from "../../ui/command-line.js";
import { ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { type Column, renderTable } from "../../ui/table.js";
import { type ClusterContext, clusterCommand, inCluster } from "../cluster-command.js";
import { clusterState } from "../cluster-state.js";
import { knownClusters } from "../place.js";
import {
  checkClients,
  checkClusters,
  checkDatabase,
  checkDisk,
  checkNode,
  checkPorts,
  type Finding,
  ourProcesses,
  printedBy,
} from "./doctor-checks.js";

export function doctorCommand(): Command {
  return clusterCommand("doctor", "state directory of the cluster")
    .summary("Check this machine, and find leftovers of clusters")
    .description(
      "Checks Node, the database's binary, default ports, the disk and the installed clients, and lists clusters on this " +
        "machine and processes of killed ones. Changes nothing.",
    )
    .option("--json", "print JSON")
    .addHelpText("after", exitCodeHelp({ 0: "no problem prevents a cluster", 1: "a problem does" }))
    .action(
      inCluster(async (context, { json }: { readonly json?: true }) => {
        const { terminal } = context;
        const findings = await examine(context);
        if (json === true) {
          terminal.print(
            JSON.stringify(withFormerNames({ version: version(), findings }, { outcome: "verdict" }), null, 2),
          );
        } else {
          terminal.print(`compute-agent ${version()}\n${renderTable(COLUMNS, findings, terminal.columns)}`);
        }
        return findings.some(({ outcome }) => outcome === "problem") ? ExitCode.failure : ExitCode.ok;
      }),
    );
}

async function examine({ directory, runtime }: ClusterContext): Promise<readonly Finding[]> {
  const roots = await knownClusters().roots();
  const clusters = await Promise.all(roots.map((root) => clusterState(root, runtime)));
  const [ours, clients, ports] = await Promise.all([
    ourProcesses(),
    checkClients(printedBy),
    checkPorts(runtime.servers, clusters),
  ]);
  return [
    await checkNode(process.version),
    await checkDatabase(() => import("../../../control-plane/database/database-file.js")),
    ...ports,
    await checkDisk(directory.root),
    ...checkClusters(clusters, ours),
    ...clients,
  ];
}

const COLUMNS: readonly Column<Finding>[] = [
  { title: "What", value: ({ what }) => what, wraps: true },
  { title: "", value: ({ outcome: severity }) => severity },
  { title: "Found", value: ({ found }) => found, wraps: true },
  { title: "What to do", value: ({ advice }) => advice ?? "", wraps: true },
];
