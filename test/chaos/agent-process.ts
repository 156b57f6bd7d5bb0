import { Program } from "../process/support/program.js";
import { LogReader } from "./log-reader.js";

/** A `compute-agent` process, with the events that can explain its end. */
export class AgentProcess {
  readonly #program: Program;
  readonly #log: LogReader;
  #requestedSignal: "SIGTERM" | "SIGKILL" | null = null;
  #frozen = false;
  /** Agents of its host that were running when it was started. */
  readonly #predecessors: readonly AgentProcess[];
  /** Agents that were started for its host while it was running. */
  readonly #successors: AgentProcess[] = [];

  constructor(args: readonly string[], predecessors: readonly AgentProcess[]) {
    this.#predecessors = predecessors;
    for (const predecessor of predecessors) {
      predecessor.#successors.push(this);
    }
    this.#program = new Program("compute-agent", args);
    this.#log = new LogReader(this.#program);
  }

  get pid(): number {
    return this.#program.pid;
  }
  get running(): boolean {
    return this.#program.running;
  }
  /** It reacts to no signal except SIGKILL and SIGCONT. */
  get frozen(): boolean {
    return this.running && this.#frozen;
  }
  get output(): string {
    return `${this.#program.stdout}${this.#program.stderr}`;
  }
  get #hasServed(): boolean {
    return / is serving\b/.test(this.output);
  }
  /** Process id of the agent that had the host when this one tried to acquire it; null if it was not rejected. */
  get conflictingPid(): number | null {
    const [, pid] = /another agent acts for host .*?\bpid (\d+)/.exec(this.output) ?? [];
    return pid === undefined ? null : Number(pid);
  }
  /** Returns log lines since the previous call. */
  newLines(): string {
    return this.#log.newLines();
  }
  get ended(): Promise<unknown> {
    return this.#program.exited;
  }

  /** Resolves to true when it serves; to false if it ends before that. */
  async serves(): Promise<boolean> {
    return this.#program.printed(/\bserving\b/).then(
      () => true,
      () => false,
    );
  }

  kill(): Promise<void> {
    this.#requestedSignal = "SIGKILL";
    return this.#program.kill();
  }

  /** Sends SIGTERM; a frozen process handles it when it is thawed. */
  stop(): void {
    this.#requestedSignal = "SIGTERM";
    this.#program.signal("SIGTERM");
  }

  freeze(): void {
    this.#frozen = true;
    this.#program.signal("SIGSTOP");
  }

  thaw(): void {
    this.#frozen = false;
    this.#program.signal("SIGCONT");
  }

  /** Waits for its end and returns why that is a violation; null if the end is explained. */
  async unexplainedEnd(): Promise<string | null> {
    const { code, signal } = await this.#program.exited;
    if (this.#requestedSignal === "SIGKILL") {
      return null;
    }
    // A process that has just started does not handle signals yet.
    if (this.#requestedSignal === "SIGTERM" && (code === 0 || signal === "SIGTERM")) {
      return null;
    }
    if (code === LEASE_LOST && this.#successors.some(({ conflictingPid }) => conflictingPid === null)) {
      return null;
    }
    // Includes a predecessor that was frozen before it had the host; from then on it loses the lease.
    const rivals = [...this.#predecessors, ...this.#successors];
    if (code === REJECTED_EXIT_CODE && !this.#hasServed && rivals.some(({ pid }) => pid === this.conflictingPid)) {
      return null;
    }
    const cause = this.#requestedSignal === null ? "by itself" : `after ${this.#requestedSignal}`;
    return `agent ${this.pid} ended ${cause} with ${code ?? signal}: ${lastLines(this.output)}`;
  }
}

/** Exit codes; see the README. */
const REJECTED_EXIT_CODE = 3;
const LEASE_LOST = 5;

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-4).join("\n");
}
