import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StateDir } from "../../src/control-plane/local/state-dir.js";
import { Program } from "../process/support/program.js";
import type { Journal } from "./journal.js";
import { LogReader } from "./log-reader.js";

/** The control plane's process, which is killed, frozen and restarted. */
export class ControlPlane {
  readonly #directory: StateDir;
  readonly #journal: Journal;
  readonly #programs: Program[] = [];
  readonly #logs: LogReader[] = [];
  /** The adversary is disrupting it. */
  harmed = false;

  constructor(directory: StateDir, journal: Journal) {
    this.#directory = directory;
    this.#journal = journal;
  }

  get #program(): Program | undefined {
    return this.#programs.at(-1);
  }
  get running(): boolean {
    return this.#program?.running === true;
  }
  /** Returns its output since the first start. */
  get output(): string {
    return this.#programs.map(({ stdout, stderr }) => `${stdout}${stderr}`).join("");
  }

  /** Returns log lines since the previous call. */
  newLines(): string {
    return this.#logs.map((log) => log.newLines()).join("");
  }

  /** Resolves when it listens; restarts use the same port. */
  async start(): Promise<void> {
    const port = this.#programs.length === 0 ? ["--port", "0"] : [];
    const own = ["--service-down-time", String(DOWN_TIME), "--allow-resize-to-same-host"];
    const program = new Program("compute-cluster", [
      "control-plane",
      "--state-dir",
      this.#directory.root,
      ...port,
      ...own,
    ]);
    this.#programs.push(program);
    this.#logs.push(new LogReader(program));
    await program.printed(/listening on/);
    this.#journal.note("world", `control plane ${program.pid} listens`);
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
  }

  freeze(): void {
    this.#program?.signal("SIGSTOP");
  }

  thaw(): void {
    this.#program?.signal("SIGCONT");
  }

  saveLog(): void {
    mkdirSync(this.#directory.logs, { recursive: true });
    writeFileSync(join(this.#directory.logs, "control-plane.log"), this.output);
  }
}

/** Seconds without a heartbeat after which a service is down. */
const DOWN_TIME = 6;
