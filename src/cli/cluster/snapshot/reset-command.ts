import { Command } from "commander";
import { DEFAULT_STATE_DIR } from "../../../cluster/local/state-dir.js";
import { ExitCode } from "../../ui/exit-code.js";
import { clusterState } from "../cluster-state.js";
import { placeText } from "../place.js";
import { restoreRunning } from "./restore-running.js";
import { run, tellRestored } from "./snapshot-command.js";
import { putInPlace } from "./up-restore.js";

export function resetCommand(): Command {
  return new Command("reset")
    .summary("go back to the state after `up`: its hosts, and no servers but those that there were then")
    .description(
      "Puts the state in place that there was when `up` had started everything: what was made, added and broken since is gone. A " +
        "cluster that runs starts again with it, at the same address.",
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--yes", "also while agents run that the cluster has not started")
    .action(({ stateDir: given, yes }: { readonly stateDir: string; readonly yes?: true }) =>
      run(given, async ({ directory, runtime, snapshots, terminal }) => {
        const snapshot = snapshots.read(null);
        if ((await clusterState(directory.root, runtime)).state === "running") {
          const missing = await restoreRunning(null, { directory, runtime, terminal, yes: yes === true });
          return tellRestored("the state after the start", missing, terminal);
        }
        await putInPlace({ snapshot, directory });
        terminal.print(`reset; "compute-cluster up${placeText(given)}" goes on from there`);
        return ExitCode.ok;
      }),
    );
}
