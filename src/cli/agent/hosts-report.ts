import { refusalOf } from "../../agent/startup/rejections.js";
import type { HostState } from "../../conductor-client/methods/session.js";
import type { HostChange } from "../../control-plane/local/reports.js";
import { foldHosts } from "../../records/host-range.js";
import { Bursts } from "../../runtime/batches.js";
import { tellParent } from "../ui/parent.js";
import type { Report, ReportDoors } from "./host-report.js";
import type { HostStanding } from "./pooled-host.js";

/** Milliseconds between two lines about hosts that start. */
const EVERY = 5_000;
/** Milliseconds in which changes of many hosts become one line. */
const TOGETHER = 1_000;
/** Milliseconds in which hosts that start are told to the parent together: each message costs both processes as much as a request. */
const TOLD_EVERY = 50;
/** Different warnings that are told of a start. */
const MOST_WARNINGS = 20;
/** Characters of a list of hosts in a line of the log. */
const LONGEST_LIST = 400;

/** Tells how the many hosts of a process are, in lines that do not become more with their number. */
export class HostsReport implements Report {
  readonly #doors: ReportDoors;
  readonly #standings = new Map<string, HostStanding>();
  /** Hosts by what they warned of. */
  readonly #warnings = new Map<string, string[]>();
  /** What is not told yet. */
  readonly #changed = new Map<string, HostStanding>();
  readonly #toParent: Bursts<HostChange>;
  #starting = true;
  #cancelProgress: () => void = () => {};
  #cancelChanges: () => void = () => {};

  constructor(doors: ReportDoors) {
    this.#doors = doors;
    this.#toParent = new Bursts(doors.timers, TOLD_EVERY, (changes) => tellParent({ type: "host-states", changes }));
  }

  progress(): void {}
  refuse(): void {}

  /** Says every few seconds how far it is, until all are started. */
  begin(): void {
    this.#cancelProgress = this.#doors.timers.after(EVERY, () => {
      const text = this.#counted();
      this.#doors.logger.info(text);
      tellParent({ type: "component", state: "starting", detail: text });
      this.begin();
    });
  }

  changed(standing: HostStanding): void {
    const { host, state, detail, exitCode } = standing;
    this.#standings.set(host, standing);
    this.#toParent.add({ host, state, detail, exitCode });
    if (state !== "starting" && state !== "serving") {
      // The operator who has ended it may list hosts at once.
      this.#toParent.hasten();
    }
    this.#doors.logger.debug(`host ${host} is ${state}`, { host });
    if (this.#starting) {
      return;
    }
    if (this.#changed.size === 0) {
      this.#cancelChanges = this.#doors.timers.after(TOGETHER, () => this.#tellChanges());
    }
    this.#changed.set(host, standing);
  }

  /** Warnings of the first start are told together; a host that is started again later warns by itself. */
  warned(host: string, message: string): void {
    if (!this.#starting) {
      this.#doors.logger.warn(message, { host });
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
    this.#tellWarnings();
    this.#tellFailures([...this.#standings.values()].filter(isFailed), "do not serve");
    this.#doors.logger.info(this.#counted());
    this.#tellServing();
  }

  connectedAgain(): void {
    if (!this.#starting) {
      this.#tellServing();
    }
  }

  #tellServing(): void {
    if (this.#in("serving").length > 0) {
      this.#toParent.flush();
      const detail = `pid ${this.#doors.processes.pid}, ${this.#counted()}`;
      tellParent({ type: "component", state: "ready", detail });
    }
  }

  close(): void {
    this.#cancelProgress();
    this.#tellChanges();
    this.#toParent.flush();
  }

  #tellWarnings(): void {
    const { logger } = this.#doors;
    for (const [message, hosts] of [...this.#warnings].slice(0, MOST_WARNINGS)) {
      logger.warn(`${message} (${listed(hosts)})`);
    }
    const left = this.#warnings.size - MOST_WARNINGS;
    if (left > 0) {
      logger.warn(`${left} other warnings of hosts that started; --debug shows them`);
    }
    this.#warnings.clear();
  }

  #tellChanges(): void {
    this.#cancelChanges();
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    this.#tellFailures(changed.filter(isFailed), "have failed");
    const states = new Set(changed.filter((standing) => !isFailed(standing)).map(({ state }) => state));
    for (const state of states) {
      const hosts = changed.filter((standing) => standing.state === state).map(({ host }) => host);
      this.#doors.logger.info(
        hosts.length === 1 ? `host ${hosts[0]} is ${state}` : `${hosts.length} hosts are ${state}: ${listed(hosts)}`,
      );
    }
  }

  /** A line for each reason. */
  #tellFailures(failed: readonly HostStanding[], what: string): void {
    const reasons = new Map<string, HostStanding[]>();
    for (const standing of failed) {
      const reason = reasonOf(standing.error);
      const alike = reasons.get(reason) ?? [];
      alike.push(standing);
      reasons.set(reason, alike);
    }
    for (const [reason, alike] of reasons) {
      const [{ host, detail }] = alike as [HostStanding];
      this.#doors.logger.error(
        alike.length === 1
          ? `host ${host} does not serve (${reason}): ${detail}`
          : `${alike.length} hosts ${what} (${reason}): ${listed(alike.map((standing) => standing.host))}; ${host}: ${detail}`,
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
    return [...this.#standings.values()].filter((standing) => standing.state === state).map(({ host }) => host);
  }
}

const isFailed = ({ state }: HostStanding): boolean => state === "failed";

function reasonOf(error: unknown): string {
  const refusal = refusalOf(error);
  return refusal === null ? (error instanceof Error ? error.name : "thrown") : `refused: ${refusal.code}`;
}

function listed(hosts: readonly string[]): string {
  const list = foldHosts(hosts);
  return list.length > LONGEST_LIST ? `${list.slice(0, LONGEST_LIST)}...` : list;
}
