import { Command } from "commander";
import { stateDir } from "../../control-plane/local/state-dir.js";
import { ownStore } from "../../control-plane/store/open-store.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { destructive } from "../ui/suggestions.js";
import { createTerminal } from "../ui/terminal.js";
import { withRuntime } from "./cluster-command.js";
import { clusterState } from "./cluster-state.js";
import { clusterLosses, confirmLosses } from "./losses.js";
import { clusterName, requireCluster, rootOf } from "./place.js";

export function deleteCommand(): Command {
  return destructive(new Command("delete"))
    .summary("Delete a stopped cluster and its state")
    .description(
      "Deletes a named cluster with its hypervisors, guests and images, after confirmation on a terminal or with --yes. " +
        "To delete a cluster without a name, delete its state directory.",
    )
    .argument("<name>", "name of the cluster, as for `up --name`", clusterName)
    .option("--yes", "confirm the loss of the cluster's state")
    .action(async (name: string, { yes }: { readonly yes?: true }) => {
      process.exitCode = await withRuntime((runtime) => deleteCluster(name, yes === true, runtime));
    });
}

async function deleteCluster(name: string, yes: boolean, runtime: Runtime): Promise<number> {
  const terminal = createTerminal();
  const { files, random } = runtime;
  await requireCluster(name);
  const directory = stateDir(rootOf(name), "/");
  if ((await clusterState(directory.root, runtime)).state === "running") {
    terminal.complain(`compute-agent: ${name} is running; stop it first: compute-agent down --name ${name}`);
    return ExitCode.rejected;
  }
  const losses = await clusterLosses(directory, runtime);
  const end = await confirmLosses({ command: `compute-agent delete ${name}`, losses, yes }, terminal);
  if (end !== undefined) {
    return end;
  }
  // Owning the store prevents a start while the folder is removed. If this command dies here, it leaves a folder that no
  // name refers to.
  const release = await ownStore(directory.database, files);
  const gone = `${directory.root}.deleted-${random.uuid()}`;
  try {
    await files.rename(directory.root, gone);
  } finally {
    release();
  }
  await files.remove(gone);
  terminal.print(`${name}: deleted`);
  return ExitCode.ok;
}
