import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { PACKAGE_ROOT } from "../process/support/program.js";

const execute = promisify(execFile);

/** Debian's interpreter, which finds Debian's python3-pytest and python3-openstacksdk. */
const PYTHON = "/usr/bin/python3";

test("the fixtures for pytest in docs/examples start, reset and stop a cluster", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pytest-example-"));
  try {
    for (const name of ["conftest.py", "test_cluster.py"]) {
      await cp(join(PACKAGE_ROOT, "docs/examples", name), join(folder, name));
    }
    const program = `${process.execPath} ${join(PACKAGE_ROOT, "dist/bin/compute-agent.js")}`;
    const env = { PATH: "/usr/bin:/bin", HOME: folder, XDG_STATE_HOME: folder, COMPUTE_AGENT: program };
    const { stdout } = await execute(PYTHON, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], { cwd: folder, env });
    expect(stdout).toContain("3 passed");
    const { stdout: list } = await execute(process.execPath, [program.split(" ")[1] ?? "", "list", "--json"], { env });
    expect(JSON.parse(list)).toMatchObject([{ state: "stopped" }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
