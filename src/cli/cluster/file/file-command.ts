import type { Command } from "commander";
import { DEFAULT_STATE_DIR, noClusterIn } from "../../../control-plane/local/state-dir.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { clusterCommand, inCluster } from "../cluster-command.js";
import { HostSettingsStore } from "../host-settings.js";
import { clusterFileOf, clusterFileText } from "./write-cluster-file.js";

export function fileCommand(): Command {
  return clusterCommand("file")
    .summary("print the cluster file of a cluster, for `up --file`")
    .description(
      "Prints what `compute-agent up --file` would make this cluster of: hosts with all they are started with, flags of `up`, flavors, " +
        "images, aggregates, projects, users, faults. A start with it changes nothing. Works while the cluster runs, and after.",
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
