import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { rootOf, withName } from "../../../../src/cli/cluster/place.js";
import { exitCodeOf } from "../../../../src/cli/ui/exit-code.js";

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "place-"));
  vi.stubEnv("XDG_STATE_HOME", home);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true, force: true });
});

/** @returns the state directory that the command received */
async function run(name: string, ...args: string[]): Promise<string> {
  let found = "";
  const command = new Command(name).option("--state-dir <dir>", "", "here").action(({ stateDir }) => {
    found = stateDir;
  });
  await withName(command).parseAsync(args, { from: "user" });
  return found;
}

it("a name selects the state directory of an existing cluster", async () => {
  await mkdir(rootOf("ci"), { recursive: true });
  expect(await run("list", "--name", "ci")).toBe(rootOf("ci"));
  expect(await run("list")).toBe("here");
});

it("an unknown name is rejected, with the exit code of wrong arguments", async () => {
  const failure = await run("list", "--name", "nobody").catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: expect.stringContaining("this user has no cluster named nobody") });
  expect(exitCodeOf(failure)).toBe(2);
});

it.each(["up", "import", "wait", "compute-agent"])("%s may be the first to use a name", async (name) => {
  expect(await run(name, "--name", "new")).toBe(rootOf("new"));
});
