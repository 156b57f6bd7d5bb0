import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the package's folder. Tests run from `test/`, benchmarks from `dist/test/`. */
function packageRoot(folder: string): string {
  return existsSync(join(folder, "package.json")) ? folder : packageRoot(dirname(folder));
}

export const PACKAGE_ROOT = packageRoot(dirname(fileURLToPath(import.meta.url)));

/** The folder where programs of tests record their clusters, instead of the user's home. */
const STATE_HOME = join(tmpdir(), "compute-agent-tests");

interface ProgramOptions {
  /** The package's folder; default: this package. */
  readonly folder?: string;
  /** Whether the program is killed when this process ends, however that happens (Linux only). Default false. */
  readonly endsWithUs?: boolean;
}

/** Disables quotas, since tests with many servers would exceed them. */
const NO_QUOTA = { OS_QUOTA__INSTANCES: "-1", OS_QUOTA__CORES: "-1", OS_QUOTA__RAM: "-1" };

/** A program of this package as a child process, with its output. */
export class Program {
  readonly #child: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #stdout = "";
  #stderr = "";
  #closed = false;
  readonly #listeners = new Set<() => void>();

  constructor(
    name: "compute-agent" | "compute-cluster",
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    { folder = PACKAGE_ROOT, endsWithUs = false }: ProgramOptions = {},
  ) {
    const command = [process.execPath, join(folder, "dist/bin", `${name}.js`), ...args];
    const [program = "", ...rest] = endsWithUs ? ["/usr/bin/setpriv", "--pdeathsig", "KILL", ...command] : command;
    this.#child = spawn(program, rest, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", XDG_STATE_HOME: STATE_HOME, ...NO_QUOTA, ...environment },
    });
    this.exited = new Promise((resolve) => {
      // Not "exit", which may come before the last output.
      this.#child.once("close", (code, signal) => {
        this.#closed = true;
        resolve({ code, signal });
        this.#wake();
      });
    });
    this.#child.stdout?.on("data", (data: Buffer) => {
      this.#stdout += data.toString();
      this.#wake();
    });
    this.#child.stderr?.on("data", (data: Buffer) => {
      this.#stderr += data.toString();
      this.#wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }
  get stdout(): string {
    return this.#stdout;
  }
  get stderr(): string {
    return this.#stderr;
  }
  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Kills the process as `kill -9` does, and waits for its end. */
  async kill(): Promise<void> {
    if (this.running) {
      this.signal("SIGKILL");
    }
    await this.exited;
  }

  async stop(): Promise<void> {
    if (this.running) {
      this.signal("SIGTERM");
    }
    await this.exited;
  }

  /** Resolves when the output of either stream matches; throws if the process ends before. */
  async printed(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const match = `${this.#stdout}\n${this.#stderr}`.match(pattern);
      if (match !== null) {
        return match;
      }
      if (this.#closed) {
        throw new Error(`ended without printing ${pattern}:\n${this.#stdout}\n${this.#stderr}`);
      }
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }
}
