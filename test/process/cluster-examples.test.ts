import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const EXAMPLES = join(ROOT, "docs/examples");
const execute = promisify(execFile);

/** Runs the examples as users do: their imports resolve to the published bundle. */
describe("the examples of a cluster in a test's own process", () => {
  it("pass with node:test", async () => {
    const file = join(EXAMPLES, "cluster.node-test.mjs");
    const { stdout } = await execute(process.execPath, ["--test", "--test-reporter=tap", file], { cwd: ROOT });
    expect(stdout).toMatch(/^# pass [2-9]/m);
  });

  it("pass with vitest", async () => {
    const folder = await mkdtemp(join(tmpdir(), "examples-"));
    try {
      // Otherwise Vitest would use the configuration of this package.
      const config = join(folder, "vitest.config.mjs");
      await writeFile(config, "export default {};\n");
      const program = join(ROOT, "node_modules/vitest/vitest.mjs");
      const args = [program, "run", "--config", config, "--root", EXAMPLES, "--reporter=json"];
      const { stdout } = await execute(process.execPath, args, { cwd: EXAMPLES });
      expect(JSON.parse(stdout)).toMatchObject({ success: true, numPassedTests: 2 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
