import type { Command } from "commander";
import { DEFAULT_STATE_DIR, noClusterIn } from "../../../control-plane/local/state-dir.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { clusterCommand, inCluster } from "../cluster-command.js";
import { HostSettingsStore } from "../host-settings.js";
import { clusterFileOf, clusterFileText } from "./write-cluster-file.js";

export function fileCommand(): Command {
  return clusterCommand("file")
    .summary("Print the cluster file of a cluster")
    .description(
      "Prints the file for `compute-agent up --file` that describes this cluster: hosts and their settings, flags of " +
        "`up`, flavors, images, aggregates, projects, users and faults. Works while the cluster is running or stopped, and " +
        "a start with the file changes nothing.",
    )
    .action(
      inCluster(async ({ directory, runtime, terminal, stateDirOption }) => {
        if ((await runtime.files.stat(directory.database)) === undefined) {
          throw noClusterIn(directory);
        }
        const savedSettings = await new HostSettingsStore(runtime.files, directory).read();
        const file = await clusterFileOf({ runtime, digests: nodeDigests, directory }, savedSettings);
        const elsewhere = stateDirOption === DEFAULT_STATE_DIR ? {} : { state_dir: directory.root };
        terminal.print(clusterFileText({ ...elsewhere, ...file }).trimEnd());
      }),
    );
}
