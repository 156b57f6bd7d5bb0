import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AGENT_FAULTS } from "../../../../src/cli/agent/agent-faults.js";
import { faultCommand } from "../../../../src/cli/cluster/fault.js";
import { reportFailure } from "../../../../src/cli/ui/exit-code.js";
import { setFaults } from "../../../../src/faults/fault-file.js";
import { parseFaultRule } from "../../../../src/faults/faults.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

let root: string;
let printed: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "compute-agent-fault-"));
  printed = "";
  for (const host of ["devstack1", "devstack2"]) {
    await mkdir(join(root, "agents", host), { recursive: true });
    await writeFile(join(root, "agents", host, "compute_id"), "1\n");
  }
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true });
});

async function fault(...args: string[]): Promise<number> {
  try {
    await faultCommand().parseAsync(["--state-dir", root, ...args], { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return reportFailure("compute-cluster", error).code;
  } finally {
    process.exitCode = 0;
  }
}

it.each(["devstakc1", "devstack[1-3]", "devstack[1"])(
  "a fault is not set for %s, which is not a host",
  async (host) => {
    expect(await fault("set", host, "driver.spawn=fail")).toBe(2);
    expect(printed).toMatch(
      /there is no host devstakc1.*did you mean devstack1|there is no host devstack3|devstack\[1/,
    );
    expect(await readdir(join(root, "agents"))).toEqual(["devstack1", "devstack2"]);
    expect(await readdir(join(root, "agents/devstack1"))).toEqual(["compute_id"]);
  },
);

it("faults are listed and cleared for each host of a range", async () => {
  const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });
  for (const host of ["devstack1", "devstack2"]) {
    await setFaults(join(root, "agents", host), [parseFaultRule("driver.spawn=fail", AGENT_FAULTS)], runtime);
  }
  expect(await fault("list", "devstack[1-2]", "--json")).toBe(0);
  expect(JSON.parse(printed)).toMatchObject([{ host: "devstack1" }, { host: "devstack2" }]);
  expect(await fault("clear", "devstack[1-2]")).toBe(0);
  expect(printed).toContain("devstack1: cleared driver.spawn=fail\ndevstack2: cleared driver.spawn=fail\n");
});
