import { Command } from "commander";
import { DEFAULT_STATE_DIR, stateDir } from "../../cluster/local/state-dir.js";
import { createTerminal } from "../ui/terminal.js";

export const envCommand = (): Command =>
  new Command("env")
    .summary("shell exports that point a client at the cluster")
    .description('Prints what makes `openstack` use this cluster: eval "$(compute-cluster env)"')
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--cloud <name>", "devstack, devstack-demo or devstack-system-admin", "devstack")
    .action((options: { stateDir: string; cloud: string }) => {
      const directory = stateDir(options.stateDir, process.cwd());
      const terminal = createTerminal();
      terminal.print(`export OS_CLIENT_CONFIG_FILE=${quote(directory.cloudsFile)}`);
      terminal.print(`export OS_CLOUD=${quote(options.cloud)}`);
    });

/** For POSIX shells. */
const quote = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
