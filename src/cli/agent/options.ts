import { Command, InvalidArgumentError, Option } from "commander";
import type { CommandLineValue } from "../../config/config-sources.js";
import { DEFAULT_STATE_DIR } from "../../control-plane/local/state-dir.js";
import { RELEASE_NAMES, RELEASES, type Release, SERVICE_VERSION } from "../../records/index.js";
import { withName } from "../cluster/place.js";
import { collect, portNumber, version } from "../ui/command-line.js";
import { HELP_FORMAT } from "../ui/help-format.js";

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
      "compute-agent up starts a complete cluster. Without a command, the program runs one compute host, or several. The agent " +
        "verifies that it owns the hypervisor, cleans up after evacuations, reports to Placement, and " +
        "builds, deletes and evacuates servers; guests outlive it.",
    )
    .version(version())
    .configureHelp(HELP_FORMAT)
    .option(
      "--host <names>",
      "name of this compute host (default: host name of the machine), or names of several hosts of this process: a,b or " +
        "rack[01-20]-node[001-050]",
    )
    .option("--state-dir <dir>", "state directory of the local cluster to join", DEFAULT_STATE_DIR)
    .option("--conductor <url>", "URL of the control plane to join instead: http://host:port, wss://host:port")
    .option("--compute-driver <name>", "virt driver: fake-libvirt (default), ironic, qemu, an npm package or a path")
    .option("--watch", "restart when the files of a driver with a path change; guests keep running")
    .option("--change-driver", "allow the host to change its driver; rejected while it has servers or moves")
    .option("--config-file <file>", "nova.conf file; repeatable, later files override earlier ones", collect, [])
    .option("--config-dir <dir>", "folder of *.conf files, read sorted after --config-file; repeatable", collect, [])
    .option(
      "-o, --option <section.option=value>",
      "option of nova.conf; repeatable, overrides all files",
      collectOption,
      [],
    )
    .option("--dry-run", "print what a start would destroy and which allocations it would edit; change nothing")
    .option(
      "--check",
      "print what a start would find: control plane, Placement, records, hypervisor, resource provider, lease; change nothing",
    )
    .option("--show-config", "print the effective value of each option and its source")
    .option("--json", "print JSON, for --check, --dry-run or --show-config")
    .option("--debug", "log debug messages")
    .addOption(
      new Option("--log-format <format>", "format of the log on standard error")
        .choices(["pretty", "json"])
        .default("pretty"),
    )
    .option(
      "--metrics-port <n>",
      "port of Prometheus metrics on the loopback interface; 0: any free port, which is printed",
      portNumber,
    )
    .option(
      "--trace-driver",
      "write each driver call to driver-calls.jsonl in state_path, for compute-agent smoke-test",
    )
    .addOption(
      new Option(
        "--release <name>",
        "release to emulate: the agent reports its service version and moves servers as it did",
      ).choices(RELEASE_NAMES),
    )
    .addOption(
      new Option(
        "--service-version <n>",
        "service version to emulate instead; below 23, moves have allocations as in Pike",
      )
        .argParser(serviceVersion)
        .conflicts("release"),
    )
    .addOption(new Option("--pool", "keep the process when hosts end, even the only one").hideHelp())
    .addHelpText("after", EXIT_CODES)
    .showHelpAfterError("(--help lists the options)")
    .allowExcessArguments(false)
    .exitOverride()
    .action(action);
  return withName(command);
}

/** Wrapped to 78 columns, since commander does not wrap it. */
const EXIT_CODES = `
Exit codes of an agent:
  0  stopped as requested
  1  failed
  2  wrong arguments or configuration
  3  start rejected
  4  no control plane, or it rejected the join token
  5  another agent has taken over the host
A process with several hosts ends with 0 when all of them stopped as requested.
Otherwise, once no host serves any more, it ends with the code of the first one
that failed.

Exit codes of --check:
  0  a start would find all that it needs
  3  the host's records or its hypervisor contradict each other, another agent
     has the host, or the agent could not update its resource provider
  4  a part of the control plane is missing or rejects the agent

Exit codes of --dry-run:
  3  a start would be rejected, or could not update its resource provider`;

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
