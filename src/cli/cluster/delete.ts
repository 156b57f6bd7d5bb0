import { Command } from "commander";
import { stateDir } from "../../cluster/local/state-dir.js";
import { ownStore } from "../../cluster/store/open-store.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/quiet-logger.js";
import { createTerminal } from "../ui/terminal.js";
import { clusterState } from "./cluster-state.js";
import { clusterName, requireCluster, rootOf } from "./place.js";

export function deleteCommand(): Command {
  return new Command("delete")
    .summary("delete a stopped cluster that has a name, with its hypervisors, guests and images")
    .description(
      "Deletes all that the cluster knows. One that was started without a name is deleted with its state directory.",
    )
    .argument("<name>", "as `up --name` had it", clusterName)
    .action(async (name: string) => {
      const runtime = createNodeRuntime({ logger: quietLogger });
      try {
        process.exitCode = await deleteCluster(name, runtime);
      } finally {
        await runtime.http.close();
      }
    });
}

async function deleteCluster(name: string, runtime: Runtime): Promise<number> {
  const terminal = createTerminal();
  const { files, random } = runtime;
  await requireCluster(name);
  const directory = stateDir(rootOf(name), "/");
  if ((await clusterState(directory.root, runtime)).state === "running") {
    terminal.complain(`compute-cluster: ${name} runs; stop it first: compute-cluster down --name ${name}`);
    return ExitCode.refused;
  }
  // Nobody can start it while it goes. A command that dies here leaves a folder that no name leads to.
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
