import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A command's exit code and output. */
export interface Outcome {
  readonly rc: number;
  readonly stdout: string;
  readonly stderr: string;
}

const PACKAGES = "/usr/lib/python3/dist-packages";
const NEEDED = ["openstackclient", "osc_placement", "novaclient"].map((name) => `${PACKAGES}/${name}`);

const HOW_TO_INSTALL =
  "OpenStack's clients are not installed; on Debian: apt-get install python3-openstackclient python3-osc-placement python3-novaclient";

/** @throws Error with instructions for the installation */
export function requireClients(): void {
  if (!NEEDED.every((path) => existsSync(path))) {
    throw new Error(HOW_TO_INSTALL);
  }
}

/**
 * Runs Debian's unmodified `openstack` (with osc-placement) and `nova` for a cloud selected by environment variables.
 */
export class Clients {
  readonly #process: ChildProcess;
  readonly #waiting: ((outcome: Outcome) => void)[] = [];
  #complaints = "";

  constructor(environment: Readonly<Record<string, string>>) {
    const program = fileURLToPath(new URL("clients.py", import.meta.url));
    // Debian's packages need Debian's interpreter, whichever else is first on the path.
    this.#process = spawn("/usr/bin/python3", [program], {
      env: { PATH: process.env.PATH, HOME: "/nonexistent", LC_ALL: "C.UTF-8", ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#process.stderr?.on("data", (data: Buffer) => {
      this.#complaints += data.toString();
    });
    if (this.#process.stdout) {
      createInterface(this.#process.stdout).on("line", (line) => this.#waiting.shift()?.(JSON.parse(line) as Outcome));
    }
    this.#process.once("close", () => {
      for (const resolve of this.#waiting.splice(0)) {
        resolve({ rc: -1, stdout: "", stderr: this.#complaints });
      }
    });
  }

  /** @param command as typed in a shell, such as `openstack server list`; quotes are parsed as a shell does */
  run(command: string): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#process.stdin?.write(`${command.replaceAll("\n", " ")}\n`);
    });
  }

  /** Returns the output of a command, which must succeed. */
  async output(command: string): Promise<string> {
    const { rc, stdout, stderr } = await this.run(command);
    if (rc !== 0) {
      throw new Error(`${command}: exit code ${rc}\n${stdout}\n${stderr}`);
    }
    return stdout.trim();
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) {
      return;
    }
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin?.end();
    await ended;
  }
}
