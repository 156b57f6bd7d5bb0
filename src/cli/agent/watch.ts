import { type ChildProcess, fork } from "node:child_process";
import { watch } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeTimers } from "../../runtime/node/node-builtins.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { InvalidDriver } from "../../virt/errors.js";
import { ExitCode } from "../ui/exit-code.js";
import { createTerminal } from "../ui/terminal.js";
import { DriverGuard } from "./driver-guard.js";
import { loadHosts } from "./load-config.js";
import type { AgentCommandOptions } from "./options.js";

/** Milliseconds without a change before the agent is restarted: a compiler writes several files. */
const QUIET = 300;

/**
 * Runs the agent as a child process, and restarts it whenever the driver's files change. Guests belong to the hypervisor and
 * keep running. An agent that ended by itself is restarted by the next change.
 */
export async function serveAndWatch(options: AgentCommandOptions, args: readonly string[]): Promise<number> {
  const terminal = createTerminal();
  const folder = await driverFolder(options);
  let child: ChildProcess | undefined;
  let stopping = false;
  const timers = nodeTimers();
  let cancelReload = () => {};
  return new Promise<number>((resolve) => {
    const start = () => {
      child = fork(
        program(),
        args.filter((arg) => arg !== "--watch"),
        { stdio: "inherit" },
      );
      child.once("exit", (code) => {
        child = undefined;
        if (stopping) {
          finish(code ?? ExitCode.failure);
        } else {
          terminal.complain(`compute-agent: the agent ended (${code}); it is restarted when ${folder} changes`);
        }
      });
    };
    const watcher = watch(folder, { recursive: true }, () => {
      cancelReload();
      cancelReload = timers.after(QUIET, reload);
    });
    const reload = () => {
      if (stopping) {
        return;
      }
      terminal.complain(`compute-agent: ${folder} has changed; restarting the agent with the new driver`);
      if (child === undefined) {
        return start();
      }
      child.removeAllListeners("exit");
      child.once("exit", () => {
        child = undefined;
        if (stopping) {
          finish(ExitCode.ok);
        } else {
          start();
        }
      });
      child.kill("SIGTERM");
    };
    const finish = (code: number) => {
      cancelReload();
      watcher.close();
      resolve(code);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (signal === "SIGHUP") {
          return void child?.kill(signal);
        }
        stopping = true;
        if (child === undefined) {
          finish(ExitCode.ok);
        } else {
          child.kill(signal);
        }
      });
    }
    start();
  });
}

const program = (): string => fileURLToPath(new URL("../compute-agent.js", import.meta.url));

/**
 * Returns the folder of the module that `compute_driver` names. @throws {InvalidDriver} it is built in, or cannot be found.
 */
async function driverFolder(options: AgentCommandOptions): Promise<string> {
  const { compiled, driver } = (await loadHosts(options, new NodeFiles(), new DriverGuard("compute-agent"))).first;
  const { computeDriver } = compiled.config.defaults;
  if (!/^\.{0,2}\//.test(computeDriver)) {
    throw new InvalidDriver(
      `--watch needs a driver by its path, as ./my-driver; found ${computeDriver} (${driver.name})`,
    );
  }
  const here = createRequire(join(process.cwd(), "noop.js"));
  return dirname(here.resolve(computeDriver));
}
