import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Child, ChildExit, Children, SpawnOptions } from "../children.js";
import { FileFailure } from "../files.js";

/** Children with a channel to their parent; they end themselves when it closes, so none outlives a killed parent. */
export function nodeChildren(): Children {
  return {
    spawn: (options: SpawnOptions): Child => {
      const log = openLog(options.logFile);
      const child = spawn(process.execPath, [options.module, ...options.args], {
        stdio: ["ignore", log, log, "ipc"],
        // Ctrl-C goes to the whole group of the terminal; children are to be stopped in order by their parent instead.
        detached: true,
      });
      closeSync(log);
      return {
        pid: child.pid ?? 0,
        exited: new Promise<ChildExit>((resolve) => {
          // Not "exit", which may come before the last messages.
          child.once("close", (code, signal) => resolve({ code, signal }));
          child.once("error", () => resolve({ code: 1, signal: null }));
        }),
        onMessage: (listener) => void child.on("message", listener),
        // With a callback a channel that closes meanwhile is no "error" of the child.
        send: (message) => void (child.connected && child.send(message, () => undefined)),
        release: () => {
          child.unref();
          if (child.connected) {
            child.disconnect();
          }
        },
        signal: (name) => void child.kill(name),
      };
    },
  };
}

/** @throws {FileFailure} */
function openLog(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, "a", 0o600);
  } catch (error) {
    throw new FileFailure(path, String((error as NodeJS.ErrnoException).code), "append", { cause: error });
  }
}
