import { Program } from "../process/support/program.js";
import { LogReader } from "./log-reader.js";

/** `compute-agent` as a process, and what may explain its end. */
export class AgentProcess {
  readonly #program: Program;
  readonly #log: LogReader;
  #requestedSignal: "SIGTERM" | "SIGKILL" | null = null;
  #frozen = false;
  /** Agents of its host that were alive when it was started. */
  readonly #predecessors: readonly AgentProcess[];
  /** Agents that were started for its host while it was alive. */
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
  /** It takes no signal but SIGKILL and SIGCONT. */
  get frozen(): boolean {
    return this.running && this.#frozen;
  }
  get output(): string {
    return `${this.#program.stdout}${this.#program.stderr}`;
  }
  get #hasServed(): boolean {
    return / is serving\b/.test(this.output);
  }
  /** The process id of the agent that had the host when this one wanted it. Null: it was not refused. */
  get conflictingPid(): number | null {
    const [, pid] = /another agent acts for host .*?\bpid (\d+)/.exec(this.output) ?? [];
    return pid === undefined ? null : Number(pid);
  }
  /** Lines of its log that were not asked for before. */
  newLines(): string {
    return this.#log.newLines();
  }
  get ended(): Promise<unknown> {
    return this.#program.exited;
  }

  /** Resolves when it serves; false: it has ended before that. */
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

  /** Asks it to end; a frozen one does so when it is thawed. */
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

  /** When it has ended: why that must not be. Null: it is explained. */
  async unexplainedEnd(): Promise<string | null> {
    const { code, signal } = await this.#program.exited;
    if (this.#requestedSignal === "SIGKILL") {
      return null;
    }
    // A process that has just begun does not listen for signals yet.
    if (this.#requestedSignal === "SIGTERM" && (code === 0 || signal === "SIGTERM")) {
      return null;
    }
    if (code === LEASE_LOST && this.#successors.some(({ conflictingPid }) => conflictingPid === null)) {
      return null;
    }
    // One that was frozen before it had the host counts, too; from then on it loses the lease.
    const rivals = [...this.#predecessors, ...this.#successors];
    if (code === REJECTED_EXIT_CODE && !this.#hasServed && rivals.some(({ pid }) => pid === this.conflictingPid)) {
      return null;
    }
    const cause = this.#requestedSignal === null ? "by itself" : `after ${this.#requestedSignal}`;
    return `agent ${this.pid} ended ${cause} with ${code ?? signal}: ${lastLines(this.output)}`;
  }
}

/** Exit codes of the README. */
const REJECTED_EXIT_CODE = 3;
const LEASE_LOST = 5;

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-4).join("\n");
}
