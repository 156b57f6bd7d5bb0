import type { Command } from "commander";
import { openrc, quoted } from "../../control-plane/identity/openrc.js";
import { clientEnvironment, noClusterIn } from "../../control-plane/local/state-dir.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { type ClusterContext, clusterCommand, inCluster } from "./cluster-command.js";

interface EnvOptions {
  readonly cloud: string;
  readonly openrc?: true;
}

export function envCommand(): Command {
  return clusterCommand("env")
    .summary("Print shell exports for OpenStack clients")
    .description(
      'Prints the environment variables with which OpenStack clients use this cluster: eval "$(compute-agent env)"',
    )
    .option("--cloud <name>", "cloud in clouds.yaml: devstack, devstack-demo or devstack-system-admin", "devstack")
    .option(
      "--openrc",
      "print OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and others, for clients that do not read clouds.yaml, such as `nova`",
    )
    .action(inCluster(print));
}

async function print(
  { directory, runtime, terminal }: ClusterContext,
  { cloud, openrc: isOpenrc }: EnvOptions,
): Promise<void> {
  const { cloudsFile } = directory;
  const clouds = await runtime.files.readIfPresent(cloudsFile);
  if (clouds === undefined) {
    throw noClusterIn(directory);
  }
  const text = openrc(clouds, cloud);
  if (text === undefined) {
    throw new CommandError(
      ExitCode.usage,
      `${cloudsFile} has no cloud ${cloud}; expected devstack, devstack-demo, devstack-system-admin, or devstack-USER of a cluster file's user`,
    );
  }
  const named = Object.entries(clientEnvironment({ cloudsFile }, cloud)).map(
    ([name, value]) => `export ${name}=${quoted(value)}`,
  );
  terminal.print(isOpenrc === true ? text : named.join("\n"));
}
