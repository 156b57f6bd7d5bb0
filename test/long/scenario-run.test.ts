import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Program } from "../process/support/program.js";

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "compute-agent-scenario-"));
});
afterAll(async () => {
  await run("down", "--all", "--yes");
  await rm(home, { recursive: true, force: true });
});

async function run(...args: string[]) {
  const program = new Program("compute-cluster", args, { XDG_STATE_HOME: home });
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

it("a scenario plays in a running cluster, or reports the failed step", async () => {
  expect(await run("up", "--name", "course", "--hosts", "2", "--port", "0", "--detach")).toMatchObject({ code: 0 });

  const played = await run("scenario", "run", "stale-evacuation", "--name", "course");
  expect(played).toMatchObject({ code: 0, stderr: "" });
  expect(played.stdout).toContain("- Host devstack1 is killed.");
  expect(played.stdout).toContain("Repair it");
  const audit = await run("audit", "--name", "course", "--settled-for", "0", "--json");
  expect(audit.stdout).toContain('"unfinished-evacuation"');

  const own = join(home, "own.yaml");
  await writeFile(
    own,
    [
      "title: a host that is not there is killed",
      "about: It cannot come about.",
      "steps:",
      "  - say: nobody9 is killed.",
      "    run: compute-agent host kill nobody9",
      "look: [{ say: It is seen., run: compute-agent status }]",
      "mend: [{ say: It is seen., run: compute-agent status }]",
      "mended: [{ say: It is seen., run: compute-agent status }]",
      "",
    ].join("\n"),
  );
  expect(await run("scenario", "run", own, "--into", "course")).toMatchObject({
    code: 3,
    stdout: "",
    stderr: expect.stringMatching(
      /own\.yaml cannot be played .*nothing was changed:\n {2}- host nobody9 is not in the cluster/s,
    ),
  });
  expect(await run("scenario", "run", "stale-evacuaton", "--into", "course")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("stale-evacuation"),
  });
  expect(await run("scenario", "run", "stale-evacuation", "--into", "another")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("has no cluster"),
  });
}, 120_000);
