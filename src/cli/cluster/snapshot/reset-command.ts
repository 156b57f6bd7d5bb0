import type { Command } from "commander";
import { destructive } from "../../ui/command-line.js";
import { clusterCommand } from "../cluster-command.js";
import { inSnapshots, type RestoreFlags, restore, START_HOSTS } from "./snapshot-command.js";

export function resetCommand(): Command {
  return destructive(clusterCommand("reset"))
    .summary("go back to the state after `up`: its hosts, and no servers but those that there were then")
    .description(
      "Puts the state in place that there was when `up` had started everything: what was made, added and broken since is gone. Hosts that " +
        "were killed or stopped then are down again. A cluster that runs starts again with it, at the same address. " +
        "Where servers or hosts go, it lists them on a terminal and asks, and requires --yes elsewhere.",
    )
    .option(
      "--yes",
      "agree to the loss of servers and hosts, and go on while agents run that the cluster has not started",
    )
    .option("--start-hosts", START_HOSTS)
    .action(inSnapshots((context, flags: RestoreFlags) => restore(null, context, flags)));
}
