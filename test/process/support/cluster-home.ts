import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { Program } from "./program.js";

interface ClusterHome {
  /** The folder that is there instead of the user's. */
  readonly path: () => string;
  /** Runs a command of compute-cluster to its end. */
  readonly run: (...args: string[]) => Promise<{ readonly code: number | null; stdout: string; stderr: string }>;
  /** Begins a command that goes on. */
  readonly begin: (...args: string[]) => Program;
}

/** A home for the named clusters of this file's tests, which are stopped and deleted with it at the end. */
export function clusterHome(name: string): ClusterHome {
  let home = "";
  const begin = (...args: string[]) => new Program("compute-cluster", args, { XDG_STATE_HOME: home });
  const run = async (...args: string[]) => {
    const program = begin(...args);
    const { code } = await program.exited;
    return { code, stdout: program.stdout, stderr: program.stderr };
  };
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), `compute-agent-${name}-`));
  });
  afterAll(async () => {
    await run("down", "--all", "--yes");
    await rm(home, { recursive: true, force: true });
  });
  return { path: () => home, run, begin };
}
