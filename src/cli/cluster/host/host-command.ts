import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { HostAction } from "../../../conductor-client/methods/session.js";
import { openCloudSession } from "../../../control-plane/local/cloud-session.js";
import { foldHosts } from "../../../records/host-names.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import { checkAgents } from "../../agent/load-config.js";
import { collect, collectHosts } from "../../ui/command-line.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { destructive } from "../../ui/suggestions.js";
import { ProgressBar } from "../../ui/terminal.js";
import { inCluster, withStateDir } from "../cluster-command.js";
import { type HostSetting, HostSettingsStore, removeAddition, writeAddition } from "../host-settings.js";
import { logsCommand } from "../logs/logs-command.js";
import { withOperatorSession } from "../operator-session.js";
import { hostArguments, isPath } from "../up-children.js";
import {
  chosenHosts,
  controlAll,
  controlHosts,
  type HostContext,
  type HostFlags,
  invalidHosts,
  listHosts,
  reportOutcomes,
  withHeartbeats,
} from "./host-control.js";
import { type RemovalParts, removeHost } from "./remove-host.js";

interface RemoveFlags extends HostFlags {
  readonly evacuate?: true;
}

/** Maximum number of hosts that are removed concurrently. */
const AT_A_TIME = 8;

const CONTROL_TIMEOUT_MS = 3_600_000;

interface AddFlags extends HostFlags {
  readonly driver?: string;
  readonly configFile: readonly string[];
  readonly option: readonly string[];
}

const ACTIONS: Readonly<Record<HostAction, readonly [summary: string, description: string]>> = {
  start: [
    "Start the agents of hosts that are down",
    "Starts agents with their previous settings, and waits until servers can be scheduled to the hosts.",
  ],
  stop: [
    "Stop agents, as SIGTERM does",
    "Stops agents after they have finished their operations. The hosts stay down until they are started.",
  ],
  kill: [
    "Kill agents, as kill -9 does",
    "Kills agents, which neither finish operations nor release resources; guests stay. The hosts stay down until they are " +
      "started.",
  ],
};

export function hostCommand(): Command {
  const command = new Command("host")
    .summary("Manage the hosts of a running cluster")
    .description(
      "Lists, adds, removes, starts, stops and kills hosts of the running cluster. Hosts are names or ranges: devstack1 " +
        "devstack[3-5] rack[01-20]-node[001-050]. `compute-agent logs HOST` prints their logs.",
    )
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "all hosts reached the requested state",
        1: "some hosts did not",
        2: "wrong arguments",
        4: "no control plane",
      }) +
        "\nIf all failures of start or add have the same reason, the exit code is that of\n" +
        "the agent, for example 3 (rejected).",
    );
  withStateDir(command.command("list"))
    .argument("[host...]", "names or ranges (default: all hosts)", collectHosts, [])
    .summary("List hosts with state, process, driver and servers")
    .option("--json", "print JSON")
    .action(inHosts(listHosts));
  for (const [action, [summary, description]] of Object.entries(ACTIONS) as [HostAction, (typeof ACTIONS)["kill"]][]) {
    const each = withStateDir(command.command(action));
    (action === "start" ? each : destructive(each))
      .argument("[host...]", "names or ranges", collectHosts, [])
      .summary(summary)
      .description(description)
      .option("--all", "all hosts of the cluster")
      .option("--json", "print JSON")
      .action(inHosts((context, hosts, flags: HostFlags) => controlHosts(action, context, hosts, flags)));
  }
  withStateDir(command.command("add"))
    .argument("<host...>", "names or ranges", collectHosts)
    .summary("Add hosts to the cluster and start them")
    .description(
      "Adds new hosts to the cluster and starts their agents. Each later `compute-agent up` starts them until they are removed.",
    )
    .option("--driver <name>", "virt driver: built-in name, npm package or path")
    .option("--config-file <file>", "nova.conf file; repeatable", collect, [])
    .option(
      "-o, --option <section.option=value>",
      "option of nova.conf; repeatable, overrides all files",
      collectOption,
      [],
    )
    .option("--json", "print JSON")
    .action(inHosts(addHosts));
  destructive(withStateDir(command.command("remove")))
    .argument("[host...]", "names or ranges", collectHosts, [])
    .summary("Remove hosts with compute service and provider")
    .description(
      "Disables the compute service, stops the agent, deletes the service and forgets the host. Hosts with servers are " +
        "rejected; if the command is interrupted, run it again.",
    )
    .option("--all", "all hosts of the cluster")
    .option("--evacuate", "evacuate the servers to other hosts first")
    .option("--json", "print JSON")
    .action(inHosts(removeHosts));
  // The former name of `compute-agent logs`.
  command.addCommand(logsCommand(), { hidden: true });
  return command;
}

function collectOption(text: string, before: readonly string[]): readonly string[] {
  if (!/^[^=]+=/.test(text)) {
    throw new InvalidArgumentError("expected section.option=value, or option=value for [DEFAULT].");
  }
  return [...before, text];
}

/** Returns an action that runs `work` with a session of the running cluster. */
function inHosts<Flags>(
  work: (context: HostContext, hosts: readonly string[], flags: Flags) => Promise<number>,
): ReturnType<typeof inCluster<[readonly string[], Flags]>> {
  return inCluster((context, hosts: readonly string[], flags: Flags) =>
    withOperatorSession("host", context, (session) => work({ ...context, session }, hosts, flags)),
  );
}

/** Starts new hosts, and adds them to every later `up`. @returns the exit code */
async function addHosts(
  { session, directory, runtime, terminal }: HostContext,
  hosts: readonly string[],
  flags: AddFlags,
): Promise<number> {
  if (hosts.length === 0) {
    throw invalidHosts("found no host, expected names or ranges such as rack[01-20]");
  }
  const setting = settingOf(flags);
  for (const warning of await checkAgents([["--state-dir", directory.root, ...hostArguments(setting)]])) {
    terminal.complain(`compute-agent: warning: ${warning}`);
  }
  const id = runtime.random.uuid();
  await writeAddition(runtime.files, directory, id, { hosts: foldHosts(hosts), setting });
  try {
    await session.call("add_hosts", { addition: id });
  } finally {
    await removeAddition(runtime.files, directory, id);
  }
  const rows = new Map((await session.call("list_hosts", { host: null })).map((row) => [row.host, row]));
  const added = hosts.map((host) => rows.get(host)).filter((row) => row !== undefined);
  const outcomes = await withHeartbeats(await controlAll("start", added, session), session, { runtime, terminal });
  return reportOutcomes(outcomes, flags.json === true, terminal);
}

function settingOf({ driver, configFile, option }: AddFlags): HostSetting {
  const resolvedDriver = driver !== undefined && isPath(driver) ? resolve(driver) : driver;
  return {
    ...(resolvedDriver === undefined ? {} : { driver: resolvedDriver }),
    configFiles: configFile.map((path) => resolve(path)),
    ...(option.length === 0 ? {} : { options: option }),
  };
}

/** Removes hosts permanently. If it is interrupted, the same command continues the removal. @returns the exit code */
async function removeHosts(
  { session, directory, runtime, terminal }: HostContext,
  hosts: readonly string[],
  flags: RemoveFlags,
): Promise<number> {
  const rows = await session.call("list_hosts", { host: null });
  const chosen = chosenHosts(hosts, flags.all === true, rows, directory.root);
  const cloud = await openCloudSession(runtime.files, runtime.http, directory);
  const bar = new ProgressBar();
  const parts: RemovalParts = {
    session: cloud,
    timers: runtime.timers,
    process: async (host) => (await session.call("list_hosts", { host })).at(0),
    control: (host, action) => session.call("control_host", { host, action }, { timeout: CONTROL_TIMEOUT_MS }),
    forget: async (host) => {
      if (!(await session.call("forget_host", { host }))) {
        const settingsStore = new HostSettingsStore(runtime.files, directory);
        await settingsStore.read();
        await settingsStore.forget(host);
      }
    },
    progress: (host, left) => bar.update(`servers to leave ${host}`, left, 0),
  };
  const removed: string[] = [];
  const failures: { readonly host: string; readonly reason: string }[] = [];
  await mapConcurrently(chosen, AT_A_TIME, async ({ host }) => {
    try {
      await removeHost(host, flags.evacuate === true, parts);
      removed.push(host);
    } catch (error) {
      if (!(error instanceof CommandError)) {
        throw error;
      }
      failures.push({ host, reason: error.message });
    }
    bar.update("removing", removed.length + failures.length, chosen.length);
  });
  bar.clear();
  if (flags.json === true) {
    terminal.print(JSON.stringify({ removed, failures }, null, 2));
  } else if (removed.length > 0) {
    terminal.print(`${foldHosts(removed)} removed`);
  }
  for (const { reason } of failures) {
    terminal.complain(`compute-agent host: ${reason}`);
  }
  return failures.length === 0 ? ExitCode.ok : ExitCode.failure;
}
