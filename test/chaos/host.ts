import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import type { StateDir } from "../../src/control-plane/local/state-dir.js";
import { clearFaults, readFaults, setFaults } from "../../src/faults/fault-file.js";
import type { FaultRule } from "../../src/faults/faults.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { AgentProcess } from "./agent-process.js";
import type { Journal } from "./journal.js";

export interface HostParts {
  readonly directory: StateDir;
  readonly runtime: Runtime;
  readonly journal: Journal;
  /** Called for each unexplained end of an agent. */
  readonly onUnexplained: (host: string, text: string) => void;
}

/** A compute host with its agents: usually one at a time, occasionally two. */
export class Host {
  readonly name: string;
  readonly #parts: HostParts;
  readonly #options: readonly string[];
  readonly #agents: AgentProcess[] = [];
  /** The adversary is disrupting it. */
  harmed = false;
  /** Operators have fenced it: its agent must be restarted before the host is forced up. */
  fenced = false;
  /** End of the partition, as `performance.now()`. */
  #partitionedUntil = 0;

  /** @param options `section.option=value` of its agents */
  constructor(name: string, options: readonly string[], parts: HostParts) {
    this.name = name;
    this.#options = options;
    this.#parts = parts;
  }

  get #living(): readonly AgentProcess[] {
    return this.#agents.filter(({ running }) => running);
  }
  /** The agent that was started last, if it is running. */
  get agent(): AgentProcess | undefined {
    return this.#living.at(-1);
  }
  /** Returns true if the host appears lost to an operator at the machine. */
  get lost(): boolean {
    return this.agent === undefined || this.agent.frozen || performance.now() < this.#partitionedUntil;
  }
  /** Output of all its agents. */
  get output(): string {
    return this.#agents.map(({ output }) => output).join("");
  }

  /** Returns log lines of its agents since the previous call. */
  newLines(): string {
    return this.#agents.map((agent) => agent.newLines()).join("");
  }

  start(): AgentProcess {
    const { directory, journal, onUnexplained } = this.#parts;
    const options = this.#options.flatMap((option) => ["-o", option]);
    const args = ["--host", this.name, "--state-dir", directory.root, "--debug", ...options];
    const agent = new AgentProcess(args, this.#living);
    this.#agents.push(agent);
    journal.note("world", `${this.name}: agent ${agent.pid} starts`);
    void agent.unexplainedEnd().then((text) => {
      journal.note(
        "world",
        `${this.name}: agent ${agent.pid} has ended${text === null ? "" : `, UNEXPLAINED: ${text}`}`,
      );
      if (text !== null) {
        onUnexplained(this.name, text);
      }
    });
    return agent;
  }

  async kill(): Promise<void> {
    await Promise.all(this.#living.map((agent) => agent.kill()));
  }

  /** Resumes all frozen agents. */
  thaw(): void {
    for (const agent of this.#living.filter(({ frozen }) => frozen)) {
      agent.thaw();
    }
  }

  /** Sets faults and returns their ids. */
  async setFaults(...faultRules: readonly FaultRule[]): Promise<readonly string[]> {
    for (const { action } of faultRules) {
      if (action.kind === "partition") {
        this.#partitionedUntil = performance.now() + (action.milliseconds ?? 0);
      }
    }
    const { directory, runtime } = this.#parts;
    return setFaults(directory.agent(this.name), faultRules, runtime);
  }

  /** Returns true if one of the faults was triggered. */
  async hasActed(ids: readonly string[]): Promise<boolean> {
    const { directory, runtime } = this.#parts;
    const faults = await readFaults(directory.agent(this.name), AGENT_FAULTS, runtime);
    return faults.some(({ id, used }) => used > 0 && ids.includes(id));
  }

  async clearFaults(): Promise<void> {
    this.#partitionedUntil = 0;
    const { directory, runtime } = this.#parts;
    await clearFaults(directory.agent(this.name), [], runtime);
  }

  /** Writes the agents' output to the logs folder. */
  saveLog(): void {
    const { logs } = this.#parts.directory;
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(logs, `${this.name}.log`), this.output);
  }
}
