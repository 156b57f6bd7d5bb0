import { type ChildProcess, spawn } from "node:child_process";
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
        "with the command's exit code. The cluster is removed afterwards, unless it has --name or --state-dir. It also " +
        "stops if this command is killed.",
    )
    .usage("[options of up] -- COMMAND [ARGUMENT...]")
    .option("--name <name>", "name of the cluster, which then stays", clusterName)
    .option("--state-dir <dir>", "state directory of the cluster, which then stays")
    .argument("[arguments...]", "options of `up`, then --, then the command with its arguments")
    .allowUnknownOption()
    .addHelpText(
      "after",
      "\nExample: compute-agent exec --hosts 2 -- openstack server list\n" +
        "\nExit codes: that of the command; 127 if the command is not found; 128 plus the\n" +
        "number of the signal that ended it; that of `up` if the cluster does not start.",
    )
    .action(async (_arguments: readonly string[], _options: unknown, command: Command) => {
      const args = process.argv.slice(3);
      const end = args.indexOf("--");
      const [program, ...rest] = end < 0 ? [] : args.slice(end + 1);
      if (program === undefined) {
        command.error("error: expected a command after --: compute-agent exec --hosts 2 -- openstack server list");
      }
      process.exitCode = await execInCluster(args.slice(0, end), [program, ...rest], command.opts());
    });
}

interface ClusterLocation {
  readonly name?: string;
  readonly stateDir?: string;
}

async function execInCluster(
  upArgs: readonly string[],
  commandLine: readonly [string, ...string[]],
  { name, stateDir: directory }: ClusterLocation,
): Promise<number> {
  const isTemporary = name === undefined && directory === undefined;
  const folder = isTemporary ? await mkdtemp(join(tmpdir(), "compute-agent-exec-")) : (directory ?? "");
  const root = name === undefined ? stateDir(folder, process.cwd()).root : rootOf(name);
  const location = ["--state-dir", root];
  const isPortChosen = upArgs.some((arg) => arg === "--port" || arg.startsWith("--port="));
  const port = isPortChosen ? [] : ["--port", "0"];
  const signals = new ForwardedSignals();
  try {
    const up = ["up", ...withoutLocation(upArgs), ...location, ...port, "--detach", "--owner", String(process.pid)];
    const started = await runProgram(up, signals, process.stderr.isTTY ? "stderr" : "nothing");
    // Any other failure of `up` leaves nothing running, or a cluster that ran before and is not this command's to stop.
    const isOurs = started === ExitCode.ok || started === ExitCode.failure;
    const code =
      started === ExitCode.ok && signals.received === undefined
        ? await runCommand(commandLine, clientEnvironment(stateDir(root, process.cwd()), "devstack"), signals)
        : started;
    const stopped = isOurs ? await stopCluster(location) : ExitCode.ok;
    if (isTemporary && stopped === ExitCode.ok) {
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    }
    if (signals.received !== undefined && code === ExitCode.ok) {
      return SIGNALLED + constants.signals[signals.received];
    }
    return code === ExitCode.ok ? stopped : code;
  } finally {
    signals.close();
  }
}

/**
 * Forwards signals to the current child, so that this process remains to stop the cluster. Ctrl-C on a terminal reaches
 * the child without it.
 */
class ForwardedSignals {
  /** The last signal; undefined if there was none. */
  received: NodeJS.Signals | undefined;
  child: ChildProcess | undefined;
  readonly #signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

  constructor() {
    for (const signal of this.#signals) {
      process.on(signal, this.#forward);
    }
  }

  close(): void {
    for (const signal of this.#signals) {
      process.off(signal, this.#forward);
    }
  }

  readonly #forward = (signal: NodeJS.Signals): void => {
    this.received = signal;
    if (signal !== "SIGINT" || !process.stdin.isTTY) {
      this.child?.kill(signal);
    }
  };
}

/** Stops the cluster in a process group of its own, which Ctrl-C does not reach. */
async function stopCluster(location: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [programPath("compute-agent"), "down", ...location], {
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
  return exitCodeOfChild(child);
}

/** Returns the arguments without `--name` and `--state-dir`, which are replaced. */
function withoutLocation(args: readonly string[]): string[] {
  const isLocation = (arg: string | undefined): boolean => arg === "--name" || arg === "--state-dir";
  return args.filter(
    (arg, index) => !isLocation(arg) && !isLocation(args[index - 1]) && !/^--(name|state-dir)=/.test(arg),
  );
}

/** Runs a command of this program. @param output where its output goes: standard output belongs to the user's command */
async function runProgram(
  args: readonly string[],
  signals: ForwardedSignals,
  output: "stderr" | "nothing",
): Promise<number> {
  const stdout = output === "stderr" ? process.stderr : "ignore";
  signals.child = spawn(process.execPath, [programPath("compute-agent"), ...args], {
    stdio: ["ignore", stdout, "inherit"],
  });
  return exitCodeOfChild(signals.child);
}

async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  signals: ForwardedSignals,
): Promise<number> {
  signals.child = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...env } });
  try {
    return await exitCodeOfChild(signals.child);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    createTerminal().complain(`compute-agent: ${program} cannot be run: ${code === "ENOENT" ? "not found" : message}`);
    return NOT_FOUND;
  }
}

/** Returns the code that a shell would report. @throws {Error} the program cannot be started */
async function exitCodeOfChild(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  return code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]);
}
