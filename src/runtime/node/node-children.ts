import { spawn } from "node:child_process";
import { mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Child, ChildExit, Children, SpawnOptions } from "../children.js";

/** Children with a channel to their parent; they end themselves when it closes, so none outlives a killed parent. */
export const nodeChildren = (): Children => ({
  spawn: (options: SpawnOptions): Child => {
    mkdirSync(dirname(options.logFile), { recursive: true });
    const log = openSync(options.logFile, "a", 0o600);
    const child = spawn(process.execPath, [options.module, ...options.args], {
      stdio: ["ignore", log, log, "ipc"],
      // Ctrl-C goes to the whole group of the terminal; children are to be stopped in order by their parent instead.
      detached: true,
    });
    return {
      pid: child.pid ?? 0,
      exited: new Promise<ChildExit>((resolve) => {
        child.once("exit", (code, signal) => resolve({ code, signal }));
        child.once("error", () => resolve({ code: 1, signal: null }));
      }),
      onMessage: (listener) => void child.on("message", listener),
      signal: (name) => void child.kill(name),
    };
  },
});
