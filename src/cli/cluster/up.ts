import { Command, InvalidArgumentError, Option } from "commander";
import { DEFAULT_STATE_DIR, stateDir } from "../../control-plane/local/state-dir.js";
import { MAX_HOSTS } from "../../records/host-names.js";
import { isRelease, RELEASE_NAMES, RELEASES, type Release } from "../../records/index.js";
import { nodeTimers } from "../../runtime/node/node-builtins.js";
import { collect, integerIn, portNumber } from "../ui/command-line.js";
import { interruptSignal } from "../ui/process-lifecycle.js";
import { StatusLines } from "../ui/status-lines.js";
import { createTerminal } from "../ui/terminal.js";
import { detach } from "./detached.js";
import type { FileFlags } from "./file/cluster-changes.js";
import { listenOptions } from "./listen.js";
import { runUp } from "./run-up.js";
import { logOptions, nodeCount, serviceDeletePolicy } from "./start-options.js";
import { DEFAULT_HOSTS, IRONIC_HOST, type UpOptions } from "./up-children.js";

export function upCommand(): Command {
  return new Command("up")
    .summary("Start a cluster of a control plane and agents")
    .description(
      "Starts the control plane (Placement, Compute, Identity, Image, Network, Ironic, conductor) and its agents on the " +
        "loopback interface, until Ctrl-C. A later start continues from the state directory with the same hosts, including " +
        "those of `host add`, unless --hosts changes their number.",
    )
    .option(
      "--file <cluster.yaml>",
      "cluster file that describes the cluster, as config/cluster.yaml; flags that the file also sets are rejected",
    )
    .addOption(
      new Option(
        "--scenario <name>",
        "scenario that a new cluster starts with: a name (compute-agent scenario list) or a path",
      ).conflicts(["file"]),
    )
    .option("--check", "print the errors of --file, or the changes that it would make, without making them")
    .option("--yes", "confirm the destructive changes of --file")
    .option(
      "--hosts <n>",
      `number of hosts (default: the existing hosts; in a new cluster ${DEFAULT_HOSTS})`,
      integerIn(0, MAX_HOSTS),
    )
    .addOption(
      new Option(
        "--processes <n>",
        "number of agent processes that the hosts share (default: one per host, with more than 8 hosts one per core)",
      )
        .argParser(atLeastOne)
        .conflicts("hostsPerProcess"),
    )
    .option("--hosts-per-process <n>", "maximum number of hosts that share an agent process", atLeastOne)
    .option("--remove", "remove previous hosts that this start omits, unless they have servers")
    .option("--state-dir <dir>", "state directory of the cluster", DEFAULT_STATE_DIR)
    .option(
      "--port <n>",
      "port of the control plane (default: the previous port, otherwise 8774; 0: any free port)",
      portNumber,
    )
    .option("--driver <name>", "virt driver of the agents: built-in name, npm package or path; agents trace its calls")
    .option("--change-driver", "allow hosts to change their driver; rejected while they have servers or moves")
    .option("--config-file <file>", "nova.conf file of all processes; repeatable", collect, [])
    .option(
      "--releases <names>",
      `releases, separated by commas, with one agent each, started from oldest to newest: ${RELEASE_NAMES.join(", ")}`,
      releases,
    )
    .option("--allow-resize-to-same-host", "allow resizes to the same host")
    .option(
      "--reclaim-instance-interval <seconds>",
      "time in seconds during which deleted servers can be restored (default: 0)",
    )
    .addOption(serviceDeletePolicy())
    .option("--detach", "return when all processes serve; compute-agent down stops the cluster")
    .option("--json", "print the connection details as JSON (requires --detach)")
    .addOption(logOptions.requests())
    .addOption(logOptions.format("format of all logs, by default pretty"))
    .addOption(listenOptions.listen())
    .addOption(listenOptions.withoutTls())
    .option(
      "--ironic <nodes>",
      `number of emulated bare-metal nodes, which agent ${IRONIC_HOST} manages (default: the existing nodes; in a new ` +
        "cluster none)",
      nodeCount,
    )
    .addOption(
      new Option("--owner <pid>", "process whose end stops the cluster")
        .argParser(integerIn(1, MAX_PID, "a process id"))
        .hideHelp(),
    )
    .action(async (options: UpOptions & FileFlags & DetachFlags, command: Command) => {
      if (options.file === undefined && (options.check ?? options.yes) !== undefined) {
        command.error(`error: --${options.check ? "check" : "yes"} requires --file`);
      }
      if (options.json === true && options.detach !== true) {
        command.error("error: --json requires --detach");
      }
      const providedOptions = Object.keys(options).filter((name) => command.getOptionValueSource(name) === "cli");
      const { detach: isDetached, json, owner, ...rest } = options;
      process.exitCode =
        isDetached === true
          ? await upDetached(rest, json === true)
          : await runUp(rest, new Set(providedOptions), createTerminal(), owner);
    });
}

interface DetachFlags {
  readonly detach?: true;
  readonly json?: true;
  readonly owner?: number;
}

/** The largest process id of any supported system. */
const MAX_PID = 2 ** 31 - 1;

/** Runs `up` as a process that outlives this one. */
async function upDetached({ stateDir: stateDirOption }: UpOptions, json: boolean): Promise<number> {
  const args = process.argv.slice(process.argv.indexOf("up") + 1);
  const terminal = createTerminal();
  return detach(
    args.filter((arg) => arg !== "--detach" && arg !== "--json"),
    {
      directory: stateDir(stateDirOption, process.cwd()),
      lines: new StatusLines(terminal, nodeTimers()),
      terminal,
      interrupt: interruptSignal(),
      json,
    },
  );
}

const atLeastOne = integerIn(1, MAX_HOSTS);

function releases(text: string): readonly Release[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !isRelease(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`${wrong} is none of ${RELEASE_NAMES.join(", ")}.`);
  }
  return names.filter(isRelease).toSorted((left, right) => RELEASES[left] - RELEASES[right]);
}
