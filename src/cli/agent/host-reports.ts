import type { AgentState } from "../../agent/context.js";
import { toStartupRejection } from "../../agent/rejections.js";
import type { HostState } from "../../conductor-client/methods/session.js";
import type { HostChange } from "../../control-plane/local/reports.js";
import { foldHosts } from "../../records/host-names.js";
import type { LogFields, Logger, Runtime } from "../../runtime/runtime.js";
import { Batcher } from "../../runtime/task-queue.js";
import { ExitCode } from "../ui/exit-code.js";
import { notifyParent } from "../ui/process-lifecycle.js";
import type { AgentHostStatus } from "./hosts.js";

/** Hears of the hosts of a process, and tells people and the parent. @internal */
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

type ReportDeps = Pick<Runtime, "logger" | "timers" | "processes">;

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

/** Milliseconds between two lines about hosts that start. */
const EVERY = 5_000;

/** Milliseconds in which changes of many hosts become one line. */
const LOG_DELAY_MS = 1_000;

/** Milliseconds in which hosts that start are told to the parent together: each message costs both processes as much as a request. */
const NOTIFY_INTERVAL_MS = 50;

/** Different warnings that are told of a start. */
const MAX_WARNINGS = 20;

/** Characters of a list of hosts in a line of the log. */
const LONGEST_LIST = 400;

/** Tells how the many hosts of a process are, in lines that do not become more with their number. */
export class HostsReport implements Report {
  readonly #deps: ReportDeps;
  readonly #standings = new Map<string, AgentHostStatus>();
  /** Hosts by what they warned of. */
  readonly #warnings = new Map<string, string[]>();
  /** What is not told yet. */
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

  progress(): void {}
  rejectHosts(): void {}

  /** Says every few seconds how far it is, until all are started. */
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
    this.#standings.set(host, status);
    this.#toParent.add({ host, state, detail, exitCode });
    if (state !== "starting" && state !== "serving") {
      // The operator who has ended it may list hosts at once.
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

  /** Warnings of the first start are told together; a host that is started again later warns by itself. */
  warned(host: string, message: string): void {
    if (!this.#starting) {
      this.#deps.logger.warn(message, { host });
      return;
    }
    const hosts = this.#warnings.get(message) ?? [];
    hosts.push(host);
    this.#warnings.set(message, hosts);
  }

  /** The first start is over: which serve, and why others do not. */
  started(): void {
    this.#cancelProgress();
    this.#starting = false;
    this.#logWarnings();
    this.#logFailures([...this.#standings.values()].filter(isFailed), "do not serve");
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
      logger.warn(`${left} other warnings of hosts that started; --debug shows them`);
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

  /** A line for each reason. */
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
    return `${this.#in("serving").length} of ${this.#standings.size} hosts serve${others.join("")}`;
  }

  #in(state: HostState): readonly string[] {
    return [...this.#standings.values()].filter((status) => status.state === state).map(({ host }) => host);
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

/** Hears of warnings of a host that starts; null: it has started. */
type Warned = () => ((message: string) => void) | null;

/**
 * What an agent says while it starts is for who debugs it, where a thousand do so at once. Its warnings go to whom `warned` gives
 * meanwhile, so that those of many hosts can be told together.
 */
export class StartLogger implements Logger {
  readonly #logger: Logger;
  readonly #warned: Warned;

  constructor(logger: Logger, warned: Warned) {
    this.#logger = logger;
    this.#warned = warned;
  }

  trace(message: string, fields?: LogFields): void {
    this.#logger.trace(message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#logger.debug(message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#logger[this.#warned() === null ? "info" : "debug"](message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    const onWarning = this.#warned();
    onWarning?.(message);
    this.#logger[onWarning === null ? "warn" : "debug"](message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#logger.error(message, fields);
  }

  fatal(message: string, fields?: LogFields): void {
    this.#logger.fatal(message, fields);
  }

  child(fields: LogFields): Logger {
    return new StartLogger(this.#logger.child(fields), this.#warned);
  }
}
