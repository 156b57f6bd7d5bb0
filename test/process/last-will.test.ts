import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LastWill } from "./support/last-will.js";

it("a last will is executed once on request, with its arguments unchanged", async () => {
  const folder = await mkdtemp(join(tmpdir(), "compute-agent-will-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "written");
  const will = new LastWill("/bin/sh", ["-c", 'printf "%s\\n" "$1" >>"$0"', file, "two  words"]);
  await expect(readFile(file)).rejects.toThrow(/ENOENT/);
  await will.execute();
  await will.execute();
  expect(await readFile(file, "utf8")).toBe("two  words\n");
});
