import { homedir } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { quoted } from "../../control-plane/identity/openrc.js";
import {
  clustersHome,
  isClusterName,
  KnownClusters,
  nameOfRoot,
  rootOfName,
} from "../../control-plane/local/known-clusters.js";
import { DEFAULT_STATE_DIR } from "../../control-plane/local/state-dir.js";
import { nodeDigests } from "../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";

const home = (): string => clustersHome(process.env, homedir());

/** Commands that create the named state, wait for it, or work without it. A machine may have only the state of an agent. */
const BEFORE_IT_IS = ["up", "control-plane", "import", "wait", "doctor", "compute-agent"];

/** @throws {CommandError} */
export async function requireCluster(name: string): Promise<void> {
  if ((await new NodeFiles().stat(rootOf(name))) === undefined) {
    throw new CommandError(
      ExitCode.usage,
      `this user has no cluster named ${name}; "compute-agent list" shows the existing ones`,
    );
  }
}

/**
 * Adds the flag `--name` to a command with `--state-dir`. It selects the state directory of the named cluster, which must
 * exist unless the command creates it or waits for it.
 */
export function withName(command: Command): Command {
  const has = (flag: string): boolean => command.options.some(({ long }) => long === flag);
  if (!has("--state-dir") || has("--name")) {
    return command;
  }
  return command
    .addOption(
      new Option("--name <name>", "name of the cluster (instead of --state-dir)")
        .argParser(clusterName)
        .conflicts("stateDir"),
    )
    .hook("preAction", async (invokedCommand) => {
      const { name } = invokedCommand.opts<{ readonly name?: string }>();
      if (name !== undefined) {
        if (!BEFORE_IT_IS.includes(invokedCommand.name())) {
          await requireCluster(name);
        }
        invokedCommand.setOptionValueWithSource("stateDir", rootOf(name), "cli");
      }
    });
}

/** Creates `--into`, the former name of `--name` in some commands. */
export function formerNameOption(): Option {
  return new Option("--into <name>").argParser(clusterName).conflicts(["name", "stateDir"]).hideHelp();
}

export function clusterName(text: string): string {
  if (!isClusterName(text)) {
    throw new InvalidArgumentError("expected a letter or digit, and letters, digits and . _ - after it, at most 63.");
  }
  return text;
}

/** Returns the state directory of the cluster with this name. */
export const rootOf = (name: string): string => rootOfName(home(), name);

/** Returns the name of a state directory's cluster; null if it has none. */
export const nameOf = (root: string): string | null => nameOfRoot(home(), root);

/** Returns the clusters that this user has started on this machine. */
export const knownClusters = (): KnownClusters => new KnownClusters(home(), new NodeFiles(), nodeDigests);

/** Returns the text that commands print for a cluster without hosts. */
export function noHostsText(stateDirOption: string): string {
  return `No hosts: "compute-agent host add NAME${placeText(stateDirOption)}" adds one.`;
}

/**
 * Returns the option with which another command finds the cluster: ` --name ci-7`, ` --state-dir some/where`; "" for the
 * default.
 */
export function placeText(stateDirOption: string): string {
  const name = nameOf(stateDirOption);
  if (name !== null) {
    return ` --name ${name}`;
  }
  return stateDirOption === DEFAULT_STATE_DIR ? "" : ` --state-dir ${quoted(stateDirOption)}`;
}
