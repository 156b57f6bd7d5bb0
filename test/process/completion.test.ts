import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PACKAGE_ROOT } from "./support/program.js";

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-agent-completion-"));
  await mkdir(join(folder, "compute-cluster/clusters/ci-7/agents/rack1"), { recursive: true });
  // A host is known once its agent has saved a file.
  await writeFile(join(folder, "compute-cluster/clusters/ci-7/agents/rack1/compute_id"), "");
  await mkdir(join(folder, "bin"));
  for (const name of ["compute-cluster", "compute-agent"]) {
    await symlink(join(PACKAGE_ROOT, "dist/bin", `${name}.js`), join(folder, "bin", name));
  }
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns bash's completions of the last word of each line. */
async function completed(program: string, ...lines: string[]): Promise<readonly string[]> {
  const script = [
    `eval "$(${program} completion bash)"`,
    ...lines.flatMap((line) => [
      `COMP_LINE='${line}' COMP_POINT=${line.length}`,
      `_${program.replaceAll("-", "_")} ${program} 2>/dev/null`,
      `echo "\${COMPREPLY[*]}"`,
    ]),
  ];
  const path = `${join(folder, "bin")}:${join(process.execPath, "..")}:/usr/bin:/bin`;
  const env = { PATH: path, HOME: folder, XDG_STATE_HOME: folder };
  const { stdout } = await run("/bin/bash", ["--norc", "-c", script.join("\n")], { cwd: folder, env });
  return stdout.trimEnd().split("\n");
}

it("bash completes commands, options, choices, and existing names", async () => {
  expect(
    await completed(
      "compute-cluster",
      "compute-cluster sta",
      "compute-agent up --reclaim",
      "compute-agent down --name c",
      "compute-agent host kill --name ci-7 r",
      "compute-agent up --scenario stale",
      "compute-agent fault set x driver.spaw",
    ),
  ).toEqual(["status", "--reclaim-instance-interval", "ci-7", "rack1", "stale-evacuation", "driver.spawn="]);
  expect(await completed("compute-agent", "compute-agent dri", "compute-agent --log-format j")).toEqual([
    "driver",
    "json",
  ]);
});
