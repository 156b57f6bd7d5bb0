import { Command } from "commander";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";

/** The context of a command about one cluster. */
export interface ClusterContext {
  readonly directory: StateDir;
  /** Logs nothing; its connections are closed after the command. */
  readonly runtime: Runtime;
  readonly terminal: Terminal;
  /** The value of `--state-dir`. */
  readonly stateDirOption: string;
  /** The options of the command and of its parents. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Creates a command with `--state-dir`. @param help of that option */
export function clusterCommand(name: string, help?: string): Command {
  return withStateDir(new Command(name), help);
}

/** Adds `--state-dir` to a command. */
export function withStateDir(command: Command, help = "state directory of the cluster"): Command {
  return command.option("--state-dir <dir>", help, DEFAULT_STATE_DIR);
}

/**
 * Returns the action of a command with `--state-dir`, which may be an option of its parent. It sets the exit code.
 * @param work receives the command's arguments and options; returns the exit code, by default 0
 */
export function inCluster<Arguments extends readonly unknown[]>(
  work: (context: ClusterContext, ...args: Arguments) => Promise<number> | Promise<void>,
): (...args: [...Arguments, Command]) => Promise<void> {
  return async (...args) => {
    const options = (args.at(-1) as Command).optsWithGlobals<{ readonly stateDir?: string }>();
    const { stateDir: stateDirOption = DEFAULT_STATE_DIR } = options;
    const directory = stateDir(stateDirOption, process.cwd());
    const context = { directory, terminal: createTerminal(), stateDirOption, options };
    process.exitCode = await withRuntime(
      async (runtime) => (await work({ ...context, runtime }, ...(args as unknown as Arguments))) ?? ExitCode.ok,
    );
  };
}

/** Runs `work` with a runtime that logs nothing, and closes its connections afterwards. */
export async function withRuntime<T>(
  work: (runtime: Runtime) => Promise<T>,
  options: { readonly tls?: HttpTls } = {},
): Promise<T> {
  const runtime = createNodeRuntime({ logger: quietLogger, ...options });
  try {
    return await work(runtime);
  } finally {
    await runtime.http.close();
  }
}
