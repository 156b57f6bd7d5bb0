import { Command } from "commander";
import { DEFAULT_STATE_DIR } from "../../../control-plane/local/state-dir.js";
import { destructive } from "../../ui/command-line.js";
import { ExitCode } from "../../ui/exit-code.js";
import { clusterState } from "../cluster-state.js";
import { confirmLosses, lossesSince } from "../losses.js";
import { placeText } from "../place.js";
import { putInPlace } from "./cluster-restore.js";
import { type RestoreFlags, reportDownHosts, restoreAndReport, run, START_HOSTS } from "./snapshot-command.js";

export function resetCommand(): Command {
  return destructive(new Command("reset"))
    .summary("go back to the state after `up`: its hosts, and no servers but those that there were then")
    .description(
      "Puts the state in place that there was when `up` had started everything: what was made, added and broken since is gone. Hosts that " +
        "were killed or stopped then are down again. A cluster that runs starts again with it, at the same address. " +
        "Where servers or hosts go, it lists them on a terminal and asks, and requires --yes elsewhere.",
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option(
      "--yes",
      "agree to the loss of servers and hosts, and go on while agents run that the cluster has not started",
    )
    .option("--start-hosts", START_HOSTS)
    .action(({ stateDir: stateDirOption, yes, startHosts }: { readonly stateDir: string } & RestoreFlags) =>
      run(stateDirOption, async (place) => {
        const { directory, runtime, snapshots, terminal } = place;
        const snapshot = snapshots.read(null);
        const flags = { yes: yes === true, startHosts: startHosts === true };
        const losses = await lossesSince(snapshot, directory, runtime);
        const end = await confirmLosses({ command: "compute-cluster reset", losses, yes: flags.yes }, terminal);
        if (end !== undefined) {
          return end;
        }
        if ((await clusterState(directory.root, runtime)).state === "running") {
          return restoreAndReport({ snapshot, name: null, what: "the state after the start" }, place, flags);
        }
        await putInPlace({ snapshot, directory, startHosts: flags.startHosts });
        terminal.print(`reset; "compute-cluster up${placeText(stateDirOption)}" goes on from there`);
        reportDownHosts(snapshot, place, flags.startHosts);
        return ExitCode.ok;
      }),
    );
}
