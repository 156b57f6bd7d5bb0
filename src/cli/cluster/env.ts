import { Command } from "commander";
import { openrc, quoted } from "../../control-plane/identity/openrc.js";
import { clientEnvironment, DEFAULT_STATE_DIR, stateDir } from "../../control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";
import { createTerminal } from "../ui/terminal.js";

interface EnvOptions {
  readonly stateDir: string;
  readonly cloud: string;
  readonly openrc?: true;
}

export function envCommand(): Command {
  return new Command("env")
    .summary("shell exports that point a client at the cluster")
    .description('Prints what makes `openstack` use this cluster: eval "$(compute-cluster env)"')
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--cloud <name>", "devstack, devstack-demo or devstack-system-admin", "devstack")
    .option("--openrc", "OS_AUTH_URL, OS_USERNAME, OS_PASSWORD ..., for clients that read no clouds.yaml, as `nova`")
    .action(async (options: EnvOptions) => {
      process.exitCode = await print(options);
    });
}

async function print({ stateDir: path, cloud, openrc: isOpenrc }: EnvOptions): Promise<number> {
  const terminal = createTerminal();
  const { cloudsFile } = stateDir(path, process.cwd());
  const { files } = createNodeRuntime({ logger: quietLogger });
  const text = openrc((await files.readIfPresent(cloudsFile)) ?? "", cloud);
  if (text === undefined) {
    terminal.complain(
      `compute-cluster: ${cloudsFile} has no cloud ${cloud}: start the cluster with "compute-cluster up", or name its --state-dir`,
    );
    return ExitCode.usage;
  }
  const named = Object.entries(clientEnvironment({ cloudsFile }, cloud)).map(
    ([name, value]) => `export ${name}=${quoted(value)}`,
  );
  terminal.print(isOpenrc === true ? text : named.join("\n"));
  return ExitCode.ok;
}
