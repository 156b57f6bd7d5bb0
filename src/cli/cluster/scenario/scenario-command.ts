import { Command } from "commander";
import type { HostRow } from "../../../conductor-client/methods/session.js";
import { type CloudSession, openCloudSession } from "../../../control-plane/local/cloud-session.js";
import { stateDir } from "../../../control-plane/local/state-dir.js";
import { expandHosts, HostRangeError } from "../../../records/host-names.js";
import { isObject } from "../../../runtime/collections.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import { type Column, renderTable } from "../../ui/table.js";
import { createTerminal } from "../../ui/terminal.js";
import { type ClusterContext, inCluster, withStateDir } from "../cluster-command.js";
import { withOperatorSession } from "../operator-session.js";
import { formerNameOption, rootOf } from "../place.js";
import { playNamed } from "./play.js";
import { readScenario, type Scenario, scenarioNames, scenarioText } from "./read-scenario.js";
import { type ScenarioStep, SERVICES, wordsOf } from "./scenario-file.js";

/** The state of a running cluster that decides whether a scenario can be played. */
interface ClusterState {
  readonly hosts: readonly Pick<HostRow, "host" | "state">[];
  readonly cloud: CloudSession;
}

const createDeps = () => ({ files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() });

export function scenarioCommand(): Command {
  const command = new Command("scenario")
    .summary("List, show and run incident scenarios")
    .description(
      "A scenario is a file that brings a cluster into a bad state, and describes what to inspect, how to repair it, and " +
        "the result. `compute-agent up --scenario NAME` starts a cluster in that state; NAME is a name of the list or the " +
        "path of your own file.",
    )
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "the cluster is in the state",
        1: "a step failed",
        2: "wrong arguments or file",
        3: "the cluster lacks hosts, or has servers with these names",
        4: "no control plane",
      }),
    );
  command.command("list").summary("List the scenarios of this package").option("--json", "print JSON").action(list);
  withStateDir(command.command("show <name>"), "state directory that the printed commands refer to")
    .summary("Show the steps, inspection and repair of a scenario")
    .option("--json", "print JSON")
    .action(
      inCluster(async ({ terminal, stateDirOption }, name: string, { json }: { readonly json?: true }) => {
        const scenario = await readScenario(name, createDeps());
        terminal.print(json === true ? JSON.stringify(scenario, null, 2) : scenarioText(scenario, stateDirOption));
      }),
    );
  withStateDir(command.command("run <name>"))
    .summary("Run a scenario in a running cluster")
    .description("Runs a scenario in a running cluster, which must have the hosts that the scenario names.")
    .addOption(formerNameOption())
    .action(inCluster(runScenario));
  return command;
}

async function list({ json }: { readonly json?: true }): Promise<void> {
  const terminal = createTerminal();
  const found = createDeps();
  const scenarios = await Promise.all(
    (await scenarioNames(found.files)).map(async (name) => {
      const { title, finds = [] } = await readScenario(name, found);
      return { name, title, finds };
    }),
  );
  terminal.print(
    json === true ? JSON.stringify(scenarios, null, 2) : renderTable(COLUMNS, scenarios, terminal.columns),
  );
}

const COLUMNS: readonly Column<Pick<Scenario, "name" | "title" | "finds">>[] = [
  { title: "Name", value: ({ name }) => name },
  { title: "What is wrong", value: ({ title }) => title, wraps: true },
  { title: "Audit finds", value: ({ finds = [] }) => finds.join("\n") },
];

async function runScenario(
  { runtime, terminal, stateDirOption }: ClusterContext,
  name: string,
  { into }: { readonly into?: string },
): Promise<void> {
  const root = into === undefined ? stateDirOption : rootOf(into);
  const { steps } = await readScenario(name, createDeps());
  const directory = stateDir(root, process.cwd());
  const cloud = await openCloudSession(runtime.files, runtime.http, directory);
  const hosts = await withOperatorSession("scenario", { runtime, directory }, (session) =>
    session.call("list_hosts", { host: null }),
  );
  const found = await obstacles(steps, { hosts, cloud });
  if (found.length > 0) {
    throw new CommandError(
      ExitCode.rejected,
      `scenario ${name} cannot be played in this cluster; nothing was changed:\n` +
        `${found.map((text) => `  - ${text}`).join("\n")}\n` +
        `compute-agent up --scenario ${name} starts a cluster for it`,
    );
  }
  const onStep = (say: string) => terminal.print(`- ${say}`);
  const { text, failed } = await playNamed(name, root, { onStep, signal: interruptSignal() });
  if (failed) {
    throw new CommandError(ExitCode.failure, text);
  }
  terminal.print(`\n${text}`);
}

/**
 * Returns why a scenario cannot be played in a running cluster, before the first step changes anything. A host that a
 * command names may be missing or not serving, or the name of a server may be taken.
 */
export async function obstacles(
  steps: readonly ScenarioStep[],
  { hosts, cloud }: ClusterState,
): Promise<readonly string[]> {
  const states = new Map(hosts.map(({ host, state }) => [host, state]));
  const missing = [...new Set(steps.flatMap(hostsOf))]
    .filter((host) => states.get(host) !== "serving")
    .map((host) => `host ${host} is ${states.get(host) ?? "not in the cluster"}, expected serving`);
  const created = steps.flatMap(createdServer);
  if (created.length === 0) {
    return missing;
  }
  const found = (await cloud.request("compute", "GET", "/servers?all_tenants=1", SERVICES.compute)) as {
    readonly servers: readonly { readonly name: string }[];
  };
  const names = new Set(found.servers.map(({ name }) => name));
  const taken = created
    .filter((name) => names.has(name))
    .map((name) => `server ${name} exists already, but a step creates it`);
  return [...missing, ...taken];
}

/** Returns the hosts that a `host` or `fault` command names. */
function hostsOf({ run = "" }: ScenarioStep): readonly string[] {
  const [, command, action, ...rest] = wordsOf(run) ?? [];
  const isOfHosts = command === "host" && ["start", "stop", "kill", "remove"].includes(action ?? "");
  const isFault = command === "fault" && (action === "set" || action === "clear");
  const named = isOfHosts ? rest.filter((word) => !word.startsWith("-")) : isFault ? rest.slice(0, 1) : [];
  try {
    return named.flatMap((text) => (text === "ironic" ? [] : expandHosts(text)));
  } catch (error) {
    if (error instanceof HostRangeError) {
      return named;
    }
    throw error;
  }
}

function createdServer({ ask, body }: ScenarioStep): readonly string[] {
  const server = ask === "POST compute /servers" && isObject(body) ? body.server : undefined;
  return isObject(server) && typeof server.name === "string" ? [server.name] : [];
}
