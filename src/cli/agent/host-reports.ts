import type { AgentState } from "../../agent/context.js";
import { toStartupRejection } from "../../agent/rejections.js";
import type { HostState } from "../../conductor-client/methods/session.js";
import type { HostChange } from "../../control-plane/local/reports.js";
import { foldHosts } from "../../records/host-names.js";
import { createLogger, type Logger, type Runtime } from "../../runtime/runtime.js";
import { Batcher } from "../../runtime/task-queue.js";
import { ExitCode } from "../ui/exit-code.js";
import { notifyParent } from "../ui/process-lifecycle.js";
import type { AgentHostStatus } from "./hosts.js";

/** Receives the events of a process's hosts, and reports them to users and the parent process. */
export interface Report {
  /** The hosts are being started. */
  begin?(): void;
  /** The state of a running agent changed. */
  progress?(host: string, state: AgentState): void;
  changed?(status: AgentHostStatus): void;
  /** An agent logged a warning during its start. */
  warned?(host: string, message: string): void;
  /** Each host serves, or has ended. */
  started?(): void;
  /** The control plane responds again, after hosts were reported to wait for it. */
  connectedAgain(): void;
  /** Rejects hosts that exceed what the process can run. */
  rejectHosts?(hosts: readonly string[]): void;
  close?(): void;
}

type ReportDeps = Pick<Runtime, "logger" | "timers" | "processes">;

/** Reports the state of the only host of a process. The caller that ends the process reports everything else. */
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
}

/**
 * Creates a report of a control plane that does not respond, once until it responds again.
 * @param onAgain called when a reported control plane responds again
 */
export function createWaitingReport(logger: Logger, onAgain: () => void = () => {}) {
  let isReported = false;
  return {
    /** @param hint what the user can do, with a space at its end */
    waiting: (reason: string, hint = ""): void => {
      if (!isReported) {
        isReported = true;
        logger.warn(`no control plane: ${reason}. ${hint}Retrying until it responds; Ctrl-C stops`);
        notifyParent({ type: "component", state: "waiting", detail: `no control plane: ${reason}` });
      }
    },
    connected: (place: string): void => {
      if (isReported) {
        isReported = false;
        logger.info(`connected to the control plane at ${place}`);
        onAgain();
      }
    },
  };
}

/** Milliseconds between two progress lines while hosts start. */
const EVERY = 5_000;

/** Milliseconds within which changes of many hosts are batched into one line. */
const LOG_DELAY_MS = 1_000;

/**
 * Milliseconds within which states of starting hosts are batched for the parent. Each message costs both processes as much
 * as a request.
 */
const NOTIFY_INTERVAL_MS = 50;

/** Maximum number of different warnings that are reported about a start. */
const MAX_WARNINGS = 20;

/** Maximum characters of a list of hosts in a log line. */
const LONGEST_LIST = 400;

/** Reports the states of many hosts, in a number of lines that does not grow with the number of hosts. */
export class HostsReport implements Report {
  readonly #deps: ReportDeps;
  readonly #statuses = new Map<string, AgentHostStatus>();
  /** Hosts by warning message. */
  readonly #warnings = new Map<string, string[]>();
  /** Changes that are not logged yet. */
  readonly #changed = new Map<string, AgentHostStatus>();
  readonly #toParent: Batcher<HostChange>;
  #starting = true;
  #cancelProgress: () => void = () => {};
  #cancelChanges: () => void = () => {};

  constructor(deps: ReportDeps) {
    this.#deps = deps;
    this.#toParent = new Batcher(deps.timers, NOTIFY_INTERVAL_MS, (changes) =>
      notifyParent({ type: "host-states", changes }),
    );
  }

  /** Logs progress every few seconds until all hosts have started. */
  begin(): void {
    this.#cancelProgress = this.#deps.timers.after(EVERY, () => {
      const text = this.#counted();
      this.#deps.logger.info(text);
      notifyParent({ type: "component", state: "starting", detail: text });
      this.begin();
    });
  }

  changed(status: AgentHostStatus): void {
    const { host, state, detail, exitCode } = status;
    this.#statuses.set(host, status);
    this.#toParent.add({ host, state, detail, exitCode });
    if (state !== "starting" && state !== "serving") {
      // Send at once: the operator who ended the host may list hosts immediately.
      this.#toParent.hasten();
    }
    this.#deps.logger.debug(`host ${host} is ${state}`, { host });
    if (this.#starting) {
      return;
    }
    if (this.#changed.size === 0) {
      this.#cancelChanges = this.#deps.timers.after(LOG_DELAY_MS, () => this.#logChanges());
    }
    this.#changed.set(host, status);
  }

  /** Collects the warnings of the first start; a host that is started later logs its own. */
  warned(host: string, message: string): void {
    if (!this.#starting) {
      this.#deps.logger.warn(message, { host });
      return;
    }
    const hosts = this.#warnings.get(message) ?? [];
    hosts.push(host);
    this.#warnings.set(message, hosts);
  }

  /** Ends the first start: logs which hosts serve, and why others do not. */
  started(): void {
    this.#cancelProgress();
    this.#starting = false;
    this.#logWarnings();
    this.#logFailures([...this.#statuses.values()].filter(isFailed), "do not serve");
    this.#deps.logger.info(this.#counted());
    this.#notifyServing();
  }

  connectedAgain(): void {
    if (!this.#starting) {
      this.#notifyServing();
    }
  }

  #notifyServing(): void {
    if (this.#in("serving").length > 0) {
      this.#toParent.flush();
      const detail = `pid ${this.#deps.processes.pid}, ${this.#counted()}`;
      notifyParent({ type: "component", state: "ready", detail });
    }
  }

  close(): void {
    this.#cancelProgress();
    this.#logChanges();
    this.#toParent.flush();
  }

  #logWarnings(): void {
    const { logger } = this.#deps;
    for (const [message, hosts] of [...this.#warnings].slice(0, MAX_WARNINGS)) {
      logger.warn(`${message} (${listed(hosts)})`);
    }
    const left = this.#warnings.size - MAX_WARNINGS;
    if (left > 0) {
      logger.warn(`${left} further warnings during the start of hosts; use --debug to log them`);
    }
    this.#warnings.clear();
  }

  #logChanges(): void {
    this.#cancelChanges();
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    this.#logFailures(changed.filter(isFailed), "have failed");
    const states = new Set(changed.filter((status) => !isFailed(status)).map(({ state }) => state));
    for (const state of states) {
      const hosts = changed.filter((status) => status.state === state).map(({ host }) => host);
      this.#deps.logger.info(
        hosts.length === 1 ? `host ${hosts[0]} is ${state}` : `${hosts.length} hosts are ${state}: ${listed(hosts)}`,
      );
    }
  }

  /** Logs one line for each reason. */
  #logFailures(failed: readonly AgentHostStatus[], what: string): void {
    const reasons = new Map<string, AgentHostStatus[]>();
    for (const status of failed) {
      const reason = reasonOf(status.error);
      const alike = reasons.get(reason) ?? [];
      alike.push(status);
      reasons.set(reason, alike);
    }
    for (const [reason, alike] of reasons) {
      const [{ host, detail }] = alike as [AgentHostStatus];
      this.#deps.logger.error(
        alike.length === 1
          ? `host ${host} does not serve (${reason}): ${detail}`
          : `${alike.length} hosts ${what} (${reason}): ${listed(alike.map((status) => status.host))}; ${host}: ${detail}`,
      );
    }
  }

  /** `986 of 1000 hosts serve; 14 failed: n[1-14]` */
  #counted(): string {
    const others = (["starting", "failed"] as const).flatMap((state) => {
      const hosts = this.#in(state);
      const names = state === "starting" && this.#starting ? "" : `: ${listed(hosts)}`;
      return hosts.length === 0 ? [] : [`; ${hosts.length} ${state}${names}`];
    });
    return `${this.#in("serving").length} of ${this.#statuses.size} hosts serve${others.join("")}`;
  }

  #in(state: HostState): readonly string[] {
    return [...this.#statuses.values()].filter((status) => status.state === state).map(({ host }) => host);
  }
}

const isFailed = ({ state }: AgentHostStatus): boolean => state === "failed";

function reasonOf(error: unknown): string {
  const rejection = toStartupRejection(error);
  return rejection === null ? (error instanceof Error ? error.name : "thrown") : `refused: ${rejection.code}`;
}

function listed(hosts: readonly string[]): string {
  const list = foldHosts(hosts);
  return list.length > LONGEST_LIST ? `${list.slice(0, LONGEST_LIST)}...` : list;
}

/** Returns the listener for a starting host's warnings; null once it has started. */
type Warned = () => ((message: string) => void) | null;

/**
 * Logs the messages of a starting agent at debug level, since a thousand agents may start at once. Its warnings go to the
 * listener that `warned` returns meanwhile, so that those of many hosts become one line.
 */
export function createStartLogger(logger: Logger, warned: Warned): Logger {
  return createLogger(
    (level, message, fields) => {
      const onWarning = level === "info" || level === "warn" ? warned() : null;
      if (level === "warn") {
        onWarning?.(message);
      }
      logger[onWarning === null ? level : "debug"](message, fields);
    },
    (fields) => createStartLogger(logger.child(fields), warned),
  );
}
