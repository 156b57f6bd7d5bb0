import { Command, InvalidArgumentError, Option } from "commander";
import type { CommandLineValue } from "../../config/config-sources.js";
import { DEFAULT_STATE_DIR } from "../../control-plane/local/state-dir.js";
import { RELEASE_NAMES, RELEASES, type Release, SERVICE_VERSION } from "../../records/index.js";
import { withName } from "../cluster/place.js";
import { collect, portNumber, version } from "../ui/command-line.js";

export interface AgentCommandOptions {
  readonly host?: string;
  readonly stateDir: string;
  readonly conductor?: string;
  readonly computeDriver?: string;
  readonly configFile: readonly string[];
  readonly configDir: readonly string[];
  readonly option: readonly CommandLineValue[];
  readonly dryRun?: true;
  readonly check?: true;
  readonly showConfig?: true;
  readonly json?: true;
  readonly debug?: true;
  readonly logFormat: "pretty" | "json";
  readonly metricsPort?: number;
  readonly traceDriver?: true;
  readonly watch?: true;
  readonly changeDriver?: true;
  readonly pool?: true;
  readonly release?: Release;
  readonly serviceVersion?: number;
}

export function agentCommand(action: (options: AgentCommandOptions) => Promise<void>): Command {
  const command = new Command("compute-agent")
    .description(
      "One compute host, as nova-compute is: proves that the hypervisor is its own, cleans up after evacuations, reports to " +
        "Placement, and builds, deletes and evacuates servers. Guests outlive it.",
    )
    .version(version())
    .option(
      "--host <names>",
      "name of this compute host (default: host name of the machine), or names of many that this process serves: " +
        "a,b or rack[01-20]-node[001-050]",
    )
    .option("--state-dir <dir>", "state directory of the local cluster to join", DEFAULT_STATE_DIR)
    .option("--conductor <url>", "join the control plane at this address instead: http://host:port, wss://host:port")
    .option("--compute-driver <name>", "virt driver: fake-libvirt (default), ironic, qemu, an npm package or a path")
    .option("--watch", "with a driver by its path: start again when the driver's files change; guests go on")
    .option("--change-driver", "let this host have another driver than before; refused while it has servers or moves")
    .option("--config-file <file>", "nova.conf; repeatable, later ones win", collect, [])
    .option("--config-dir <dir>", "its *.conf files, sorted, after --config-file; repeatable", collect, [])
    .option("-o, --option <section.option=value>", "one option; repeatable, wins over all files", collectOption, [])
    .option("--dry-run", "say what start-up would destroy and which allocations it would edit; do nothing")
    .option(
      "--check",
      "say what a start would find: control plane, Placement, records, hypervisor, resource provider, lease; change nothing",
    )
    .option("--show-config", "print the effective value of each option and where it comes from")
    .option("--json", "with --check, --dry-run or --show-config: as JSON")
    .option("--debug", "log more")
    .addOption(
      new Option("--log-format <format>", "of the log on standard error").choices(["pretty", "json"]).default("pretty"),
    )
    .option(
      "--metrics-port <n>",
      "serve Prometheus metrics on the loopback interface; 0: any free port, printed",
      portNumber,
    )
    .option(
      "--trace-driver",
      "write each call of the driver to driver-calls.jsonl in state_path, for compute-agent smoke-test",
    )
    .addOption(
      new Option("--release <name>", "be of this release: say its service version, and move servers as it did").choices(
        RELEASE_NAMES,
      ),
    )
    .addOption(
      new Option("--service-version <n>", "the same by number: below 23 moves are accounted the Pike way")
        .argParser(serviceVersion)
        .conflicts("release"),
    )
    .addOption(new Option("--pool", "outlive the end of each host, though it be the only one").hideHelp())
    .addHelpText("after", EXIT_CODES)
    .showHelpAfterError("(--help shows what there is)")
    .allowExcessArguments(false)
    .exitOverride()
    .action(action);
  return withName(command);
}

const EXIT_CODES = `
For authors of drivers: compute-agent driver --help
A whole cluster: compute-agent up, which is compute-agent up

Exit codes: 0 stopped as asked; 1 failed; 2 wrong arguments or configuration; 3 refused to start;
4 no control plane, or it refused the join token; 5 another agent took the host. With many hosts:
0 when all stopped as asked; once none serves any more, that of the first that failed.
Of --check: 0 a start would find all it needs; 4 a part of the control plane is missing or refuses the agent;
3 the host's records or hypervisor contradict each other, another agent has the host, or the agent would start and
could not update its resource provider.
Of --dry-run: 3 a start would refuse, or could not update its resource provider.`;

function serviceVersion(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > SERVICE_VERSION) {
    throw new InvalidArgumentError(`expected a number, at most ${SERVICE_VERSION}.`);
  }
  return value;
}

/** Returns the service version that `--release` or `--service-version` requests; undefined: the version of this build. */
export function serviceVersionOf({ release, serviceVersion: number }: AgentCommandOptions): number | undefined {
  return release === undefined ? number : RELEASES[release];
}

function collectOption(text: string, before: readonly CommandLineValue[]): readonly CommandLineValue[] {
  const match = /^(?:([^.=]+)\.)?([^.=]+)=(.*)$/s.exec(text);
  const [, section = "DEFAULT", option, value] = match ?? [];
  if (option === undefined || value === undefined) {
    throw new InvalidArgumentError("expected section.option=value, or option=value for [DEFAULT].");
  }
  return [...before, { section, option, value, flag: `-o ${section}.${option}` }];
}

/** Returns the flags that set options of nova.conf. @param host one of those that `--host` names */
export function commandLineValues(options: AgentCommandOptions, host: string | undefined): CommandLineValue[] {
  return [
    ...flag("DEFAULT", "host", "--host", host),
    ...flag("DEFAULT", "compute_driver", "--compute-driver", options.computeDriver),
    ...flag("conductor", "url", "--conductor", options.conductor),
    ...options.option,
  ];
}

function flag(section: string, option: string, name: string, value: string | undefined): CommandLineValue[] {
  return value === undefined ? [] : [{ section, option, value, flag: name }];
}
