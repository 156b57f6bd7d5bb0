import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { clientEnvironment, stateDir } from "../../control-plane/local/state-dir.js";
import { ExitCode } from "../ui/exit-code.js";
import { createTerminal } from "../ui/terminal.js";
import { programPath } from "./own-programs.js";
import { clusterName, rootOf } from "./place.js";

/** Exit code of a shell whose command was not found. */
const NOT_FOUND = 127;
/** Added by shells to the number of the signal that ended a command. */
const SIGNALLED = 128;

export function execCommand(): Command {
  return new Command("exec")
    .summary("Run a command in a temporary cluster")
    .description(
      "Starts a cluster, runs a command with OS_CLOUD and OS_CLIENT_CONFIG_FILE set for it, stops the cluster, and ends " +
        "with the command's exit code. The cluster is removed afterwards, unless --name or --state-dir keeps it.",
    )
    .usage("[options of up] -- COMMAND [ARGUMENT...]")
    .option("--name <name>", "name under which the cluster is kept", clusterName)
    .option("--state-dir <dir>", "state directory in which the cluster is kept")
    .argument("[arguments...]", "options of `up`, then --, then the command with its arguments")
    .allowUnknownOption()
    .addHelpText(
      "after",
      "\nExample: compute-agent exec --hosts 2 -- openstack server list\n" +
        "\nExit codes: that of the command; 127 if the command is not found; 128 plus the\n" +
        "number of the signal that ended it; that of `up` if the cluster does not start.",
    )
    .action(async (_arguments: readonly string[], _options: unknown, command: Command) => {
      const args = process.argv.slice(process.argv.indexOf("exec") + 1);
      const end = args.indexOf("--");
      const [program, ...rest] = end < 0 ? [] : args.slice(end + 1);
      if (program === undefined) {
        command.error("error: expected a command after --: compute-agent exec --hosts 2 -- openstack server list");
      }
      process.exitCode = await execInCluster(args.slice(0, end), [program, ...rest], command.opts());
    });
}

interface Placement {
  readonly name?: string;
  readonly stateDir?: string;
}

async function execInCluster(
  upArgs: readonly string[],
  commandLine: readonly [string, ...string[]],
  { name, stateDir: directory }: Placement,
): Promise<number> {
  const temporary =
    name === undefined && directory === undefined ? await mkdtemp(join(tmpdir(), "compute-agent-exec-")) : undefined;
  const root = temporary ?? (name === undefined ? stateDir(directory ?? "", process.cwd()).root : rootOf(name));
  const place = ["--state-dir", root];
  const isPortChosen = upArgs.some((arg) => arg === "--port" || arg.startsWith("--port="));
  // Ctrl-C reaches all processes of the terminal; this one stays to stop the cluster.
  const ignore = () => undefined;
  process.on("SIGINT", ignore).on("SIGTERM", ignore);
  try {
    const up = ["up", ...withoutPlace(upArgs), ...place, ...(isPortChosen ? [] : ["--port", "0"]), "--detach"];
    const started = await runProgram(up, process.stderr.isTTY ? "stderr" : "nothing");
    if (started !== ExitCode.ok) {
      await runProgram(["down", ...place], "nothing");
      return started;
    }
    const code = await runCommand(commandLine, clientEnvironment(stateDir(root, process.cwd()), "devstack"));
    const stopped = await runProgram(["down", ...place], "nothing");
    return code === ExitCode.ok ? stopped : code;
  } finally {
    process.off("SIGINT", ignore).off("SIGTERM", ignore);
    if (temporary !== undefined) {
      await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

/** Returns the arguments without `--name` and `--state-dir`, which are replaced. */
function withoutPlace(args: readonly string[]): string[] {
  const isPlace = (arg: string | undefined): boolean => arg === "--name" || arg === "--state-dir";
  return args.filter((arg, index) => !isPlace(arg) && !isPlace(args[index - 1]) && !/^--(name|state-dir)=/.test(arg));
}

/** Runs a command of this program. @param output where its output goes: standard output belongs to the user's command */
async function runProgram(args: readonly string[], output: "stderr" | "nothing"): Promise<number> {
  const stdout = output === "stderr" ? process.stderr : "ignore";
  const child = spawn(process.execPath, [programPath("compute-agent"), ...args], {
    stdio: ["ignore", stdout, "inherit"],
  });
  const [code] = await once(child, "exit");
  return typeof code === "number" ? code : ExitCode.failure;
}

async function runCommand([program, ...args]: readonly [string, ...string[]], env: Readonly<Record<string, string>>) {
  const child = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...env } });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGTERM", forward);
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    return code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    createTerminal().complain(`compute-agent: ${program} cannot be run: ${code === "ENOENT" ? "not found" : message}`);
    return NOT_FOUND;
  } finally {
    process.off("SIGTERM", forward);
  }
}
