import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../../process/support/program.js";

/** A cluster of `compute-agent up` with its own state directory and port. */
export class RealCluster {
  readonly #folder: string;
  /** Its name is the cluster's name in the dashboard. */
  readonly stateDir: string;
  #up: Program | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.stateDir = join(folder, "devstack");
  }

  static async start(...args: readonly string[]): Promise<RealCluster> {
    const cluster = new RealCluster(await mkdtemp(join(tmpdir(), "compute-agent-dashboard-")));
    cluster.#up = new Program("compute-cluster", ["up", "--state-dir", cluster.stateDir, "--port", "0", ...args]);
    await cluster.#up.printed(/Ctrl-C stops all of it/);
    return cluster;
  }

  /** Returns a command's output; the command must succeed. */
  async run(...args: readonly string[]): Promise<string> {
    const program = new Program("compute-cluster", [...args, "--state-dir", this.stateDir]);
    const { code } = await program.exited;
    if (code !== 0) {
      throw new Error(`compute-agent ${args.join(" ")} ended with ${code}: ${program.stderr}${program.stdout}`);
    }
    return program.stdout.trim();
  }

  /** Returns a one-time link to the dashboard. */
  link(...flags: readonly string[]): Promise<string> {
    return this.run("open", "--no-browser", ...flags);
  }

  async stop(): Promise<void> {
    await this.#up?.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
