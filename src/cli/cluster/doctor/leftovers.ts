import { readdir, readFile } from "node:fs/promises";
import type { ClusterState } from "../cluster-state.js";
import type { Finding } from "./finding.js";

/** A process of this package that works in a state directory. */
export interface OurProcess {
  readonly pid: number;
  readonly program: string;
  readonly stateDir: string;
}

/** Finds the processes of this user, where the system shows processes as files. */
export async function ourProcesses(proc = "/proc"): Promise<readonly OurProcess[]> {
  const names = await readdir(proc).catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const words = (await readFile(`${proc}/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
        const program = words
          .map((word) => /(?:^|\/)(compute-(?:agent|cluster))(?:\.js)?$/.exec(word)?.[1])
          .find(Boolean);
        const stateDir = words[words.indexOf("--state-dir") + 1];
        return program === undefined || stateDir === undefined || !words.includes("--state-dir")
          ? []
          : [{ pid: Number(name), program, stateDir }];
      }),
  );
  return found.flat();
}

/** What clusters have left that were killed: their processes, and their place among those that are known. */
export function checkClusters(clusters: readonly ClusterState[], processes: readonly OurProcess[]): readonly Finding[] {
  return clusters.map(({ name, stateDir, state, url }): Finding => {
    const what = `cluster ${name ?? stateDir}`;
    if (state === "running") {
      return { what, outcome: "ok", found: `runs at ${url}` };
    }
    const left = processes.filter((process) => process.stateDir === stateDir);
    if (left.length === 0) {
      return { what, outcome: "ok", found: url === null ? "never came up" : "does not run" };
    }
    const pids = left.map(({ pid }) => pid);
    return {
      what,
      outcome: "warning",
      found: `its control plane is gone, and ${left.length} of its processes run: ${left
        .map(({ pid, program }) => `${program} ${pid}`)
        .join(", ")}`,
      advice: `up of this cluster goes on with them; kill ${pids.join(" ")} ends them`,
    };
  });
}
