import { Command } from "commander";
import { DEFAULT_STATE_DIR, noClusterIn, stateDir } from "../../../control-plane/local/state-dir.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { quietLogger } from "../../ui/logging.js";
import { createTerminal } from "../../ui/terminal.js";
import { HostSettingsStore } from "../host-settings.js";
import { clusterFileOf, clusterFileText } from "./write-cluster-file.js";

export function fileCommand(): Command {
  return new Command("file")
    .summary("print the cluster file of a cluster, for `up --file`")
    .description(
      "Prints what `compute-cluster up --file` would make this cluster of: hosts with all they are started with, flags of `up`, flavors, " +
        "images, aggregates, projects, users, faults. A start with it changes nothing. Works while the cluster runs, and after.",
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .action(async ({ stateDir: stateDirOption }: { readonly stateDir: string }) => {
      const runtime = createNodeRuntime({ logger: quietLogger });
      try {
        const directory = stateDir(stateDirOption, process.cwd());
        if ((await runtime.files.stat(directory.database)) === undefined) {
          throw noClusterIn(directory);
        }
        const savedSettings = await new HostSettingsStore(runtime.files, directory).read();
        const file = await clusterFileOf({ runtime, digests: nodeDigests, directory }, savedSettings);
        const elsewhere = stateDirOption === DEFAULT_STATE_DIR ? {} : { state_dir: directory.root };
        createTerminal().print(clusterFileText({ ...elsewhere, ...file }).trimEnd());
      } finally {
        await runtime.http.close();
      }
    });
}
