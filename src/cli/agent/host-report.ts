import type { AgentState } from "../../agent/context.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { notifyParent } from "../ui/parent.js";
import type { AgentHostStatus } from "./pooled-host.js";

/** Hears of the hosts of a process, and tells people and the parent. */
export interface Report {
  /** They are started. */
  begin(): void;
  /** What an agent that lives is doing. */
  progress(host: string, state: AgentState): void;
  changed(status: AgentHostStatus): void;
  /** What an agent warned of while it started. */
  warned(host: string, message: string): void;
  /** Each serves, or has ended. */
  started(): void;
  /** The control plane answers again; in between it was said that hosts wait for it. */
  connectedAgain(): void;
  /** More hosts than the process can take. */
  rejectHosts(hosts: readonly string[]): void;
  close(): void;
}

export type ReportDeps = Pick<Runtime, "logger" | "timers" | "processes">;

/** Tells how the only host of a process is. */
export class HostReport implements Report {
  readonly #deps: ReportDeps;
  #state: AgentState | undefined;

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  progress(host: string, state: AgentState): void {
    const { logger } = this.#deps;
    this.#state = state;
    if (state === "serving") {
      logger.info(`host ${host} is serving`);
      this.#notifyServing();
    } else if (state !== "stopped" && state !== "failed" && state !== "draining") {
      logger.debug(`host ${host} is ${state}`);
      notifyParent({ type: "component", state: "starting", detail: state });
    }
  }

  connectedAgain(): void {
    if (this.#state === "serving") {
      this.#notifyServing();
    }
  }

  #notifyServing(): void {
    notifyParent({ type: "component", state: "ready", detail: `pid ${this.#deps.processes.pid}` });
  }

  rejectHosts(hosts: readonly string[]): void {
    const detail = "an agent process with one host takes no others; start it with --pool";
    const changes = hosts.map((host) => ({ host, state: "failed" as const, detail, exitCode: ExitCode.usage }));
    notifyParent({ type: "host-states", changes });
  }

  // The caller that ends the process says why.
  begin(): void {}
  changed(): void {}
  warned(): void {}
  started(): void {}
  close(): void {}
}
