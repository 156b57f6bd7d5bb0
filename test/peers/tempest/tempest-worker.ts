import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { PACKAGE_ROOT } from "../../process/support/program.js";

/** The result of a test. */
export interface TestResult {
  readonly test: string;
  readonly result: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly why: string;
  /** Requests that no service handles: a test that expected their 404 has verified nothing. */
  readonly unserved: readonly string[];
}

type Line = TestResult | { readonly done: true } | { readonly test: string };

const HOW_TO_INSTALL =
  "Tempest is not installed; on Debian: apt-get install tempest python3-tempest python3-stestr (33.0.0)";

/** @throws {Error} with instructions for the installation */
export function requireTempest(): void {
  if (!existsSync("/usr/lib/python3/dist-packages/tempest/test_discover")) {
    throw new Error(HOW_TO_INSTALL);
  }
}

/** Debian's Tempest in Debian's interpreter: one process that runs class after class. */
export class TempestWorker {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #complaints = "";

  /** @param work contains `tempest.conf` */
  constructor(work: string, args: readonly string[] = []) {
    const program = `${PACKAGE_ROOT}/test/peers/tempest/worker.py`;
    this.#process = spawn("/usr/bin/python3", ["-W", "ignore", program, ...args], {
      // OS_TEST_TIMEOUT ends a test that waits forever.
      env: {
        PATH: process.env.PATH,
        LC_ALL: "C.UTF-8",
        HOME: work,
        TEMPEST_CONFIG_DIR: work,
        OS_TEST_TIMEOUT: "300",
        NEUTRON_TEMPEST_PLUGIN: process.env.NEUTRON_TEMPEST_PLUGIN ?? "",
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#process.stderr?.on("data", (data: Buffer) => {
      this.#complaints = (this.#complaints + data.toString()).slice(-4000);
    });
    this.#lines = linesOf(this.#process)[Symbol.asyncIterator]();
  }

  /** Returns the ids of all installed tests. */
  static async list(work: string): Promise<readonly string[]> {
    const worker = new TempestWorker(work, ["--list"]);
    const names: string[] = [];
    for (let line = await worker.#next(); line !== undefined; line = await worker.#next()) {
      names.push(...("test" in line ? [line.test] : []));
    }
    return names;
  }

  /** @param tests of one class @throws {Error} if the process ends during them */
  async run(tests: readonly string[], onResult: (result: TestResult) => void): Promise<void> {
    this.#process.stdin?.write(`${tests.join(" ")}\n`);
    for (;;) {
      const line = await this.#next();
      if (line === undefined) {
        throw new Error(`Tempest has ended in ${tests[0]}:\n${this.#complaints}`);
      }
      if ("done" in line) {
        return;
      }
      if ("result" in line) {
        onResult(line);
      }
    }
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }

  async #next(): Promise<Line | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : (JSON.parse(value) as Line);
  }
}

function linesOf({ stdout }: ChildProcess): Interface {
  if (stdout === null) {
    throw new Error("the process has no output");
  }
  return createInterface(stdout);
}
