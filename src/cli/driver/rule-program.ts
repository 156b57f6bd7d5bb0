import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Starts the process that shows rules: a group of its own, so that it can be ended with all that it started. */
export function startRuleProgram(): ChildProcess {
  // Beside this folder, in the sources and in the bundle.
  const program = fileURLToPath(new URL("../compute-agent.js", import.meta.url));
  return spawn(process.execPath, [program, "driver", "check-rules"], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
}
