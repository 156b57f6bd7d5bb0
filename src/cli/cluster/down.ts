import type { Command } from "commander";
import { stateDir } from "../../control-plane/local/state-dir.js";
import { errorMessage } from "../../runtime/error-messages.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode, exitCodeOf } from "../ui/exit-code.js";
import { destructive } from "../ui/suggestions.js";
import { type ClusterContext, clusterCommand, inCluster } from "./cluster-command.js";
import { clusterState } from "./cluster-state.js";
import { confirmLosses } from "./losses.js";
import { withOperatorSession } from "./operator-session.js";
import { knownClusters, placeText } from "./place.js";

interface DownOptions {
  readonly all?: true;
  readonly yes?: true;
}

/** Timeout of a stop in milliseconds; agents finish their operations first. */
const STOP_TIMEOUT_MS = 60_000;
/** Milliseconds between two checks whether the process is alive. */
const LOOK_EVERY = 50;

export function downCommand(): Command {
  return destructive(clusterCommand("down"))
    .summary("Stop a cluster")
    .description(
      "Stops the agents, which finish their operations, and the control plane, and waits until they have stopped. The " +
        "state stays, and `up` continues from it; a cluster that is not running is not changed.",
    )
    .option("--all", "all clusters that this user has started on this machine")
    .option("--yes", "confirm that --all stops clusters of other folders")
    .action(
      inCluster(async (context, { all, yes }: DownOptions, command: Command) => {
        if (all !== true) {
          return down([context.directory.root], context);
        }
        if (command.getOptionValueSource("stateDir") === "cli") {
          command.error("error: --all stops every cluster; remove --name and --state-dir");
        }
        const roots = await knownClusters().roots();
        if (roots.length === 0) {
          context.terminal.print("No clusters: none was started yet, so nothing was stopped.");
        }
        return (await confirmOthers(roots, yes === true, context)) ?? down(roots, context);
      }),
    );
}

/**
 * Asks for confirmation if clusters of other folders are running.
 * @returns an exit code to end with; undefined to continue
 */
async function confirmOthers(
  roots: readonly string[],
  yes: boolean,
  { directory, runtime, terminal }: ClusterContext,
): Promise<number | undefined> {
  const others = roots.filter((root) => root !== directory.root);
  const states = await Promise.all(others.map((root) => clusterState(root, runtime)));
  const losses = states
    .filter(({ state }) => state === "running")
    .map(({ name, stateDir: root }) => `cluster ${name === null ? root : `${name} (${root})`}`);
  return confirmLosses({ command: "compute-agent down --all", verb: "stops", losses, yes }, terminal);
}

/** @returns the exit code of the first cluster that could not be stopped */
async function down(roots: readonly string[], { runtime, terminal }: ClusterContext): Promise<number> {
  let code: number = ExitCode.ok;
  await Promise.all(
    roots.map(async (root) => {
      try {
        terminal.print(`${root}: ${await stopOne(root, runtime)}`);
      } catch (error) {
        terminal.complain(`compute-agent: ${root}: ${errorMessage(error)}`);
        code = code === ExitCode.ok ? exitCodeOf(error) : code;
      }
    }),
  );
  return code;
}

/** @returns the outcome, as text for the user. @throws {Error} the cluster is still running; the message says why */
async function stopOne(root: string, runtime: Runtime): Promise<string> {
  const { state } = await clusterState(root, runtime);
  if (state === "stopped") {
    return "does not run";
  }
  const { pid } = await withOperatorSession("down", { runtime, directory: stateDir(root, "/") }, (session) =>
    session.call("stop_cluster", {}),
  );
  for (let waited = 0; runtime.processes.isAlive(pid); waited += LOOK_EVERY) {
    if (waited >= STOP_TIMEOUT_MS) {
      throw new Error(
        `process ${pid} has not stopped after ${STOP_TIMEOUT_MS / 1000} s; its log is in ${stateDir(root, "/").logs}, ` +
          `kill ${pid} ends it immediately`,
      );
    }
    await runtime.timers.sleep(LOOK_EVERY);
  }
  return `stopped; "compute-agent up${placeText(root)}" continues from its state`;
}
