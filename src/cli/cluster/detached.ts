import type { HostProcess } from "../../conductor-client/methods/session.js";
import type { ComponentStatus } from "../../control-plane/local/component.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { nodeChildren } from "../../runtime/node/node-processes.js";
import { ExitCode } from "../ui/exit-code.js";
import type { StatusLines } from "../ui/status-lines.js";
import type { Terminal } from "../ui/terminal.js";
import { withRuntime } from "./cluster-command.js";
import { clusterState } from "./cluster-state.js";
import { programPath } from "./own-programs.js";

/** Messages from a detached `up` to the process that started it. */
export type UpReport =
  | { readonly type: "up-status"; readonly status: ComponentStatus }
  /** A step of a scenario. */
  | { readonly type: "up-step"; readonly say: string }
  | {
      readonly type: "up-started";
      readonly text: string;
      readonly missing: readonly HostProcess[];
      /** Whether the requested scenario failed to play. */
      readonly failed: boolean;
    };

/** Sends a report to the process that started this `up`, if it still waits for one. */
export function reportToStarter(report: UpReport): void {
  if (process.connected) {
    process.send?.(report);
  }
}

/** Closes the channel to the process that started this `up`. */
export function leaveStarter(): void {
  if (process.connected) {
    process.disconnect();
  }
}

/**
 * Starts `up` as a process that outlives this one, displays its progress, and waits until all components are ready.
 * @param args of `up`, without `--detach`
 * @returns the exit code: that of `up` if it ended, 1 if some hosts do not serve
 */
export async function detach(
  args: readonly string[],
  place: {
    readonly directory: StateDir;
    readonly lines: StatusLines;
    readonly terminal: Terminal;
    readonly interrupt: AbortSignal;
    readonly json: boolean;
  },
): Promise<number> {
  const { directory, lines, terminal, interrupt, json } = place;
  const files = new NodeFiles();
  const log = directory.log("up");
  const before = (await files.stat(log))?.bytes ?? 0;
  const child = nodeChildren().spawn({
    module: programPath("compute-cluster"),
    args: ["up", ...args],
    logFile: log,
  });
  interrupt.addEventListener("abort", () => child.signal("SIGTERM"));
  const started = new Promise<Extract<UpReport, { type: "up-started" }>>((resolve) => {
    child.onMessage((message) => {
      const report = message as UpReport;
      if (report.type === "up-started") {
        resolve(report);
      } else if (report.type === "up-status" && !json) {
        lines.update(report.status);
      } else if (report.type === "up-step" && !json) {
        lines.pause();
        terminal.print(`- ${report.say}`);
      }
    });
  });
  const end = await Promise.race([started, child.exited]);
  lines.end();
  if (!("type" in end) && interrupt.aborted) {
    terminal.complain("compute-agent: interrupted before all hosts served; everything was stopped");
    return ExitCode.failure;
  }
  if (!("type" in end)) {
    const output = Buffer.from((await files.readIfPresent(log)) ?? "").subarray(before);
    terminal.complain(output.toString().trimEnd());
    return end.code ?? ExitCode.failure;
  }
  child.release();
  if (json) {
    const state = await withRuntime((runtime) => clusterState(directory.root, runtime));
    const missing = end.missing.map(({ host, state: is, reason }) => ({ host, state: is, reason }));
    terminal.print(JSON.stringify({ ...state, missing }, null, 2));
  } else {
    terminal.print(end.text);
  }
  return end.missing.length === 0 && !end.failed ? ExitCode.ok : ExitCode.failure;
}
