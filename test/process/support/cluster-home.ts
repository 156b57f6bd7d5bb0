import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { Program } from "./program.js";

interface ClusterHome {
  /** The folder used instead of the user's home. */
  readonly path: () => string;
  /** Runs a command of compute-cluster to its end. */
  readonly run: (...args: string[]) => Promise<{ readonly code: number | null; stdout: string; stderr: string }>;
  /** Starts a command without waiting for its end. */
  readonly begin: (...args: string[]) => Program;
}

/** Creates a home for the named clusters of this test file. They are stopped and deleted with it at the end. */
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
