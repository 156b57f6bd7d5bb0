import { Command } from "commander";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { withRuntime } from "./cluster-command.js";
import { type ClusterState, clusterState } from "./cluster-state.js";
import { knownClusters } from "./place.js";

export function listCommand(): Command {
  return new Command("list")
    .summary("List the clusters of this user on this machine")
    .option("--json", "print JSON, which includes the client settings of each cluster")
    .action(async ({ json }: { readonly json?: true }) => {
      const terminal = createTerminal();
      const roots = await knownClusters().roots();
      const clusters = await withRuntime((runtime) => Promise.all(roots.map((root) => clusterState(root, runtime))));
      if (json === true) {
        terminal.print(JSON.stringify(clusters, null, 2));
      } else if (clusters.length === 0) {
        terminal.print('No clusters: none was started yet. "compute-agent up" starts one.');
      } else {
        terminal.print(renderTable(COLUMNS, clusters, terminal.columns));
      }
    });
}

const COLUMNS: readonly Column<ClusterState>[] = [
  { title: "Name", value: ({ name }) => name ?? "-" },
  { title: "State", value: ({ state }) => state },
  { title: "Address", value: ({ url }) => url ?? "-" },
  { title: "Pid", value: ({ pid }) => pid?.toString() ?? "-", align: "right" },
  { title: "State directory", value: ({ stateDir }) => stateDir, wraps: true },
];
