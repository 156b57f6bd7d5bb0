import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../../dist/bin/compute-agent.js", import.meta.url));
const PAGE = fileURLToPath(new URL("../../../docs/tutorials/test-in-ci.md", import.meta.url));

const TEST = `
def test_server(cloud):
    server = cloud.create_server("vm1", image="cirros", flavor="m1.tiny", wait=True, auto_ip=False)
    assert server.status == "ACTIVE"
    assert cloud.delete_server(server.id, wait=True)
`;

it("the documented pytest fixture starts a cluster for openstacksdk, and leaves nothing", async () => {
  const [, fixture = ""] = /```python\n(.*?)```/s.exec(await readFile(PAGE, "utf8")) ?? [];
  const folder = await mkdtemp(join(tmpdir(), "compute-agent-pytest-"));
  const env = { PATH: "/usr/bin:/bin", HOME: folder, XDG_STATE_HOME: folder };
  try {
    const command = JSON.stringify([process.execPath, PROGRAM]);
    await writeFile(join(folder, "test_cloud.py"), fixture.replace('["npx", "compute-agent"]', command) + TEST);
    const { stdout } = await run("/usr/bin/python3", ["-m", "pytest", "-q", "test_cloud.py"], { cwd: folder, env });
    expect(stdout).toContain("1 passed");
    expect((await run(process.execPath, [PROGRAM, "list", "--json"], { env })).stdout.trim()).toBe("[]");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
