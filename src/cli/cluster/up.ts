import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { DEFAULT_STATE_DIR, readClusterInfo, stateDir } from "../../cluster/local/state-dir.js";
import { Supervisor } from "../../cluster/local/supervisor.js";
import { ensureUsable } from "../../cluster/local/usable-state-dir.js";
import { finishInterruptedRestore } from "../../cluster/snapshot/restore.js";
import { MOST_HOSTS } from "../../records/host-range.js";
import { isRelease, RELEASE_NAMES, RELEASES, type Release } from "../../records/index.js";
import { nodeChildren } from "../../runtime/node/node-children.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { nodeTimers } from "../../runtime/node/node-timers.js";
import { ExitCode } from "../ui/exit-code.js";
import { interruptSignal } from "../ui/interrupt-signal.js";
import { portNumber } from "../ui/port-number.js";
import { StatusLines } from "../ui/status-lines.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { withBoundDrivers } from "./bound-drivers.js";
import { checkAgents } from "./check-agents.js";
import { detach, leaveStarter, reportToStarter } from "./detached.js";
import type { FileFlags } from "./file/agree.js";
import { describeCluster } from "./file/describe-cluster.js";
import { keepFlags } from "./file/kept-flags.js";
import { mirrorInPlacement } from "./file/mirror-in-placement.js";
import { prepareCluster } from "./file/prepare-cluster.js";
import { readAddition } from "./host-additions.js";
import { KeptHosts } from "./kept-hosts.js";
import { leaveOut, reopen } from "./left-out-hosts.js";
import { linkCloudsFile } from "./link-clouds-file.js";
import { listenOptions, listenWarnings } from "./listen.js";
import { logOptions } from "./logs/log-options.js";
import { nodeCount } from "./node-count.js";
import { knownClusters, placeText } from "./place.js";
import { programPath } from "./program-path.js";
import { playNamed } from "./scenario/play-named.js";
import { serviceDeletePolicy } from "./service-delete-policy.js";
import { putInPlace, type StateToRestore, saveStart, stateToRestore } from "./snapshot/up-restore.js";
import {
  additionArguments,
  agentArguments,
  CONTROL_PLANE,
  hostArguments,
  hostsOf,
  IRONIC_HOST,
  morePlans,
  settingsOf,
  type UpOptions,
  upChildren,
} from "./up-children.js";
import { UpHosts } from "./up-hosts.js";
import { welcome } from "./welcome.js";

export function upCommand(): Command {
  return new Command("up")
    .summary("start a control plane and agents devstack1..N, and keep them running until Ctrl-C")
    .description(
      "Starts Placement, the Compute API, Identity, Image, Network, Ironic and the conductor in one process on the loopback interface, and " +
        "agents of N hosts beside it, beyond 8 hosts several in one process. What they know survives in the state directory; starting again goes on from there.",
    )
    .option(
      "--file <cluster.yaml>",
      "start what this file describes (config/cluster.yaml); a flag that it says, too, is refused",
    )
    .addOption(
      new Option(
        "--scenario <name>",
        "start a new cluster, and bring it into a bad state (compute-cluster scenario list); or the path of a scenario",
      ).conflicts(["file"]),
    )
    .option("--check", "with --file: say what is wrong with it, or what it would change; do nothing")
    .option("--yes", "with --file: agree to what it destroys")
    .option("--hosts <n>", "number of hosts", count, 3)
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
    .option("--detach", "return when all of it serves, and leave it running; compute-cluster down stops it")
    .option("--json", "with --detach: say how to reach it as JSON")
    .addOption(logOptions.requests())
    .addOption(logOptions.format("of all logs (default: pretty)"))
    .addOption(listenOptions.listen())
    .addOption(listenOptions.withoutTls())
    .option(
      "--ironic <nodes>",
      `so many emulated bare-metal nodes, and agent ${IRONIC_HOST} that manages them`,
      nodeCount,
      0,
    )
    .action(async (options: UpOptions & FileFlags & DetachFlags, command: Command) => {
      if (options.file === undefined && (options.check ?? options.yes) !== undefined) {
        command.error(`error: --${options.check ? "check" : "yes"} belongs to --file, which is not given`);
      }
      if (options.json === true && options.detach !== true) {
        command.error("error: --json belongs to --detach, which is not given");
      }
      const given = Object.keys(options).filter((name) => command.getOptionValueSource(name) === "cli");
      const { detach: isDetached, json, ...rest } = options;
      process.exitCode =
        isDetached === true ? await upDetached(rest, json === true) : await up(rest, new Set(given), createTerminal());
    });
}

interface DetachFlags {
  readonly detach?: true;
  readonly json?: true;
}

/** The same as a process that stays when this one ends. */
async function upDetached({ stateDir: given }: UpOptions, json: boolean): Promise<number> {
  const args = process.argv.slice(process.argv.indexOf("up") + 1);
  const terminal = createTerminal();
  return detach(
    args.filter((arg) => arg !== "--detach" && arg !== "--json"),
    {
      directory: stateDir(given, process.cwd()),
      lines: new StatusLines(terminal, nodeTimers()),
      terminal,
      interrupt: interruptSignal(),
      json,
    },
  );
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > MOST_HOSTS) {
    throw new InvalidArgumentError(`expected 0 to ${MOST_HOSTS}.`);
  }
  return value;
}

function atLeastOne(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > MOST_HOSTS) {
    throw new InvalidArgumentError(`expected 1 to ${MOST_HOSTS}.`);
  }
  return value;
}

function releases(text: string): readonly Release[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !isRelease(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`${wrong} is none of ${RELEASE_NAMES.join(", ")}.`);
  }
  return names.filter(isRelease).toSorted((left, right) => RELEASES[left] - RELEASES[right]);
}

/** Starts everything, and waits until it is to end. @returns the exit code */
async function up(options: UpOptions & FileFlags, given: ReadonlySet<string>, terminal: Terminal): Promise<number> {
  // The second Ctrl-C ends this process at once, and with it its children.
  const place = { given, terminal, interrupt: interruptSignal() };
  let end = await upOnce(options, { ...place, isRestored: false });
  while (typeof end !== "number") {
    end = await upOnce({ ...options, ...(await putInPlace(end)) }, { ...place, isRestored: true });
  }
  return end;
}

interface UpPlace {
  readonly given: ReadonlySet<string>;
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  /** It goes on from a saved state, which has what the file and the start before it have made. */
  readonly isRestored: boolean;
}

/** One life of the cluster. @returns the exit code; or what is to be put in place before the next life */
async function upOnce(
  { file, scenario, check, yes, ...flags }: UpOptions & FileFlags,
  { given, terminal, interrupt, isRestored }: UpPlace,
): Promise<number | StateToRestore> {
  let restore: StateToRestore | undefined;
  const down = new AbortController();
  const told = new Promise<"told">((resolve) => {
    for (const signal of [interrupt, down.signal]) {
      signal.addEventListener("abort", () => resolve("told"));
    }
  });
  const described = await describeCluster({ file, scenario }, { options: flags, given }, isRestored);
  const options = described?.options ?? flags;
  const directory = stateDir(options.stateDir, process.cwd());
  if (check !== true) {
    await ensureUsable(new NodeFiles(), directory);
    await finishInterruptedRestore(directory, new NodeFiles());
  }
  const kept = new KeptHosts(new NodeFiles(), directory);
  const before = await withBoundDrivers(new NodeFiles(), directory, await kept.read());
  const settings = settingsOf(options, before, (path) => resolve(path));
  const warn = (warning: string) => terminal.complain(`compute-cluster: warning: ${warning}`);
  for (const warning of listenWarnings(options)) {
    warn(warning);
  }
  const common = ["--state-dir", directory.root, ...agentArguments(options)];
  for (const warning of await checkAgents(
    [...settings.values()].map((setting) => [...common, ...hostArguments(setting)]),
  )) {
    warn(warning);
  }
  if (described !== undefined && !isRestored) {
    const end = await prepareCluster(described, { directory, before, check, yes, terminal, interrupt });
    if (end !== undefined) {
      return end;
    }
  }
  if (interrupt.aborted) {
    return ExitCode.ok;
  }
  const lines = new StatusLines(terminal, nodeTimers());
  const hosts: UpHosts = new UpHosts({
    pid: process.pid,
    onDown: () => down.abort(),
    onRestore: async (name) => {
      restore = await stateToRestore(name, directory);
    },
    kept,
    supervisor: () => supervisor,
    plansOf: (added) => morePlans(added, { options, directory, supervisor, cores: availableParallelism() }),
    readAddition: (id) => readAddition(new NodeFiles(), directory, id),
    onStarted: (host) => reopen([host], directory),
  });
  const supervisor: Supervisor = new Supervisor({
    ...upChildren(options, directory, settings, availableParallelism()),
    directory,
    programs: { cluster: programPath("compute-cluster"), agent: programPath("compute-agent") },
    onStatus: (status) => {
      lines.update(status);
      reportToStarter({ type: "up-status", status });
      const setting = settings.get(CONTROL_PLANE);
      if (status.name === CONTROL_PLANE && status.state === "ready" && setting !== undefined) {
        Promise.all([
          kept.keep(CONTROL_PLANE, setting),
          keepFlags(options, directory, new NodeFiles()),
          knownClusters().remember(directory),
        ]).catch((error: unknown) => warn(String(error)));
      }
    },
    onServing: (host) => {
      const setting = settings.get(host);
      if (setting !== undefined) {
        kept.keep(host, setting).catch((error: unknown) => warn(String(error)));
      }
    },
    onMessage: (message) => void hosts.take(message),
    children: nodeChildren(),
    timers: nodeTimers(),
    clock: nodeClock(),
  });
  const tellStep = (say: string): void => {
    terminal.print(`- ${say}`);
    reportToStarter({ type: "up-step", say });
  };
  const prepare = async (): Promise<void> => {
    if (kept.hosts.length === 0) {
      return;
    }
    // What the file leaves out goes, as was agreed to.
    const remove = options.named === undefined ? options.remove : true;
    const place = { kept, directory, remove };
    const texts = await leaveOut(hosts.idle, [...settings.keys()], place).catch((error: unknown) => [String(error)]);
    if (texts.length > 0) {
      lines.pause();
      terminal.print(texts.join("\n"));
    }
  };
  const running = supervisor.start(prepare).then(async () => {
    if (supervisor.isStopping || supervisor.url === undefined) {
      return;
    }
    // A cluster that is kept elsewhere leaves the working directory alone.
    const here = options.stateDir === DEFAULT_STATE_DIR && (await linkCloudsFile(process.cwd(), directory.cloudsFile));
    const outside = (await readClusterInfo(new NodeFiles(), directory))?.outside;
    const missing = supervisor.hosts.filter(({ state }) => state !== "serving");
    const counted = hostsOf(options);
    let next = counted.length + 1;
    while (kept.get(`devstack${next}`) !== undefined) {
      next += 1;
    }
    // What the last one has, a further one would have.
    const setting = settings.get(counted.at(-1) ?? "") ?? { configFiles: [] };
    // A start with the file again would take it away.
    const another = described === undefined ? [`devstack${next}`, ...additionArguments(setting)] : undefined;
    lines.pause();
    const played =
      scenario === undefined || isRestored
        ? undefined
        : await playNamed(scenario, options.stateDir, { onStep: tellStep, signal: interrupt });
    if (!isRestored) {
      // What reset goes back to is the state that was asked for.
      await saveStart(supervisor.hosts, directory);
    }
    const where = placeText(options.stateDir);
    const attached = !process.connected;
    const started = welcome(
      { url: supervisor.url, outside, where, attached, directory, here, another, missing },
      terminal,
    );
    const text = played === undefined ? started : `${started}\n\n${played.text}`;
    terminal.print(text);
    if (described !== undefined) {
      await mirrorInPlacement(described, directory).catch((error: unknown) => {
        if (!supervisor.isStopping) {
          warn(`Placement does not have the file's aggregates yet: ${error instanceof Error ? error.message : error}`);
        }
      });
    }
    reportToStarter({ type: "up-started", text, missing, failed: played?.failed === true });
    leaveStarter();
  });
  try {
    // A start that fails ends the wait; one that succeeds does not.
    const end = await Promise.race([told, supervisor.controlPlaneEnded(), running.then(() => told)]);
    if (end === "told") {
      return interrupt.aborted ? ExitCode.ok : (restore ?? ExitCode.ok);
    }
    terminal.complain(`compute-cluster: the control plane has ended: ${end.detail}`);
    return end.exitCode ?? ExitCode.failure;
  } finally {
    await supervisor.stop();
    await running.catch(() => undefined);
    lines.end();
  }
}
