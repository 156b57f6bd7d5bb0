import { Command, InvalidArgumentError } from "commander";
import type { HostAction } from "../../../conductor-client/methods/session.js";
import { DEFAULT_STATE_DIR } from "../../../control-plane/local/state-dir.js";
import { destructive } from "../../ui/destructive.js";
import { ExitCode } from "../../ui/exit-code.js";
import { createTerminal } from "../../ui/terminal.js";
import { logsCommand } from "../logs/logs-command.js";
import { type AddFlags, addHosts } from "./host-add.js";
import { controlHosts } from "./host-control.js";
import { listHosts } from "./host-list.js";
import { type RemoveFlags, removeHosts } from "./host-remove.js";
import { collectHosts, type HostFlags, InvalidHosts } from "./host-session.js";

const ACTIONS: Readonly<Record<HostAction, readonly [summary: string, description: string]>> = {
  start: [
    "start the agents of hosts that are down",
    "Starts them with all that they had, and waits until servers can be scheduled to them.",
  ],
  stop: [
    "stop agents as SIGTERM does",
    "What is under way is finished first; the host stays down until it is started.",
  ],
  kill: [
    "kill agents as kill -9 does",
    "Nothing is finished, nothing is given back, guests stay; the host stays down until it is started.",
  ],
};

export function hostCommand(): Command {
  const command = new Command("host")
    .summary("list, add, remove, start, stop and kill hosts of the running cluster, and read their logs")
    .description("Hosts are named one by one or in ranges: devstack1 devstack[3-5] rack[01-20]-node[001-050].")
    .addHelpText(
      "after",
      "\nExit codes: 0 the hosts are as they were to be; 1 some are not; 2 wrong arguments; 4 no control plane;\n" +
        "of start and add with one reason for all failures: the agent's own (3 refused, ...).",
    );
  withState(command.command("list"))
    .argument("[host...]", "default: all", collectHosts, [])
    .summary("state, process, driver and servers of hosts")
    .option("--json", "as JSON")
    .action(guarded(listHosts));
  for (const [action, [summary, description]] of Object.entries(ACTIONS) as [HostAction, (typeof ACTIONS)["kill"]][]) {
    const each = withState(command.command(action));
    (action === "start" ? each : destructive(each))
      .argument("[host...]", "names or ranges", collectHosts, [])
      .summary(summary)
      .description(description)
      .option("--all", "every host of the cluster")
      .option("--json", "as JSON")
      .action(guarded((hosts: readonly string[], flags: HostFlags) => controlHosts(action, hosts, flags)));
  }
  withState(command.command("add"))
    .argument("<host...>", "names or ranges", collectHosts)
    .summary("start hosts that the cluster has not had")
    .description("Each later `compute-cluster up` starts them, too, until they are removed.")
    .option("--driver <name>", "virt driver: built-in name, npm package or path")
    .option("--config-file <file>", "nova.conf; repeatable", collect, [])
    .option("-o, --option <section.option=value>", "one option; repeatable, wins over all files", collectOption, [])
    .option("--json", "as JSON")
    .action(guarded<AddFlags>(addHosts));
  destructive(withState(command.command("remove")))
    .argument("[host...]", "names or ranges", collectHosts, [])
    .summary("remove hosts for good: agent, compute service and provider")
    .description(
      "Disables the compute service, stops the agent, deletes the service and forgets the host. Refused while the host has " +
        "servers. Interrupted, it is finished by the same command.",
    )
    .option("--all", "every host of the cluster")
    .option("--evacuate", "have its servers rebuilt on other hosts first")
    .option("--json", "as JSON")
    .action(guarded<RemoveFlags>(removeHosts));
  command.addCommand(logsCommand().summary("the same as compute-cluster logs"));
  return command;
}

function withState(command: Command): Command {
  return command.option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR);
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function collectOption(text: string, before: readonly string[]): readonly string[] {
  if (!/^[^=]+=/.test(text)) {
    throw new InvalidArgumentError("expected section.option=value, or option=value for [DEFAULT].");
  }
  return [...before, text];
}

/** Sets the exit code, and says in one line what is wrong with the hosts of the command line. */
function guarded<Flags>(work: (hosts: readonly string[], flags: Flags) => Promise<number>) {
  return async (hosts: readonly string[], flags: Flags): Promise<void> => {
    try {
      process.exitCode = await work(hosts, flags);
    } catch (error) {
      if (!(error instanceof InvalidHosts)) {
        throw error;
      }
      createTerminal().complain(`compute-cluster host: ${error.message}`);
      process.exitCode = ExitCode.usage;
    }
  };
}
