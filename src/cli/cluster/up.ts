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
    .summary("start a control plane and agents devstack1..N, and keep them running until Ctrl-C")
    .description(
      "Starts Placement, the Compute API, Identity, Image, Network, Ironic and the conductor in one process on the loopback interface, and " +
        "agents of N hosts beside it, beyond 8 hosts several in one process. What they know survives in the state directory; starting again goes on from there, " +
        "with the hosts of the last start and those that `host add` brought, unless --hosts says how many.",
    )
    .option(
      "--file <cluster.yaml>",
      "start what this file describes (config/cluster.yaml); a flag that it says, too, is refused",
    )
    .addOption(
      new Option(
        "--scenario <name>",
        "start a new cluster, and bring it into a bad state (compute-agent scenario list); or the path of a scenario",
      ).conflicts(["file"]),
    )
    .option("--check", "with --file: say what is wrong with it, or what it would change; do nothing")
    .option("--yes", "with --file: agree to what it destroys")
    .option(
      "--hosts <n>",
      `number of hosts (default: the hosts that the cluster has; of a new one ${DEFAULT_HOSTS})`,
      integerIn(0, MAX_HOSTS),
    )
    .addOption(
      new Option(
        "--processes <n>",
        "agent processes that the hosts share (default: one a host, beyond 8 hosts one a core)",
      )
        .argParser(atLeastOne)
        .conflicts("hostsPerProcess"),
    )
    .option("--hosts-per-process <n>", "hosts that share an agent process at most", atLeastOne)
    .option("--remove", "remove the hosts of the start before that this one leaves out, unless they have servers")
    .option("--state-dir <dir>", "where everything is kept", DEFAULT_STATE_DIR)
    .option(
      "--port <n>",
      "port of the control plane (default: the one it had before, else 8774; 0: any free one)",
      portNumber,
    )
    .option("--driver <name>", "virt driver of the agents: built-in name, npm package or path; its calls are traced")
    .option("--change-driver", "let hosts have another driver than before; refused while they have servers or moves")
    .option("--config-file <file>", "nova.conf for all of them; repeatable", collect, [])
    .option("--releases <names>", `one agent of each, started oldest first: ${RELEASE_NAMES.join(", ")}`, releases)
    .option("--allow-resize-to-same-host", "a resize may stay on its host")
    .option("--reclaim-instance-interval <seconds>", "deleted servers can be restored for this long (default: 0)")
    .addOption(serviceDeletePolicy())
    .option("--detach", "return when all of it serves, and leave it running; compute-agent down stops it")
    .option("--json", "with --detach: say how to reach it as JSON")
    .addOption(logOptions.requests())
    .addOption(logOptions.format("of all logs (default: pretty)"))
    .addOption(listenOptions.listen())
    .addOption(listenOptions.withoutTls())
    .option(
      "--ironic <nodes>",
      `so many emulated bare-metal nodes, and agent ${IRONIC_HOST} that manages them (default: as before; of a new cluster none)`,
      nodeCount,
    )
    .action(async (options: UpOptions & FileFlags & DetachFlags, command: Command) => {
      if (options.file === undefined && (options.check ?? options.yes) !== undefined) {
        command.error(`error: --${options.check ? "check" : "yes"} requires --file`);
      }
      if (options.json === true && options.detach !== true) {
        command.error("error: --json requires --detach");
      }
      const providedOptions = Object.keys(options).filter((name) => command.getOptionValueSource(name) === "cli");
      const { detach: isDetached, json, ...rest } = options;
      process.exitCode =
        isDetached === true
          ? await upDetached(rest, json === true)
          : await runUp(rest, new Set(providedOptions), createTerminal());
    });
}

interface DetachFlags {
  readonly detach?: true;
  readonly json?: true;
}

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
