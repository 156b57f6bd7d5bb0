import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ClusterState } from "../../../../../src/cli/cluster/cluster-state.js";
import {
  checkClients,
  checkClusters,
  checkDatabase,
  checkDisk,
  checkNode,
  checkPorts,
  isInRange,
  ourProcesses,
} from "../../../../../src/cli/cluster/doctor/doctor-checks.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

const cluster = (more: Partial<ClusterState>): ClusterState => ({
  name: "ci",
  state: "stopped",
  url: "http://127.0.0.1:8774",
  pid: null,
  stateDir: "/st/ci",
  env: {},
  ...more,
});

it("the version of Node is checked against the package's engines", async () => {
  const range = "^20.19.0 || ^22.12.0 || >=24.0.0";
  const fits = (version: string) => isInRange(version, range);
  expect(["v20.19.0", "v20.30.1", "v22.12.0", "v24.0.0", "v25.1.0"].map(fits)).toEqual(Array(5).fill(true));
  expect(["v20.18.9", "v21.0.0", "v22.11.9", "v23.9.0", "v18.0.0"].map(fits)).toEqual(Array(5).fill(false));
  expect(await checkNode("v18.1.0")).toMatchObject({ outcome: "problem", advice: expect.stringContaining("20.19.0") });
  expect(await checkNode(process.version)).toMatchObject({ outcome: "ok" });
});

it("a missing binary and a full disk are problems", async () => {
  expect(await checkDatabase(() => import("libsql"))).toMatchObject({ outcome: "ok" });
  const gone = () => Promise.reject(new Error("Cannot find module '@libsql/linux-x64-gnu'\nRequire stack:"));
  expect(await checkDatabase(gone)).toMatchObject({
    outcome: "problem",
    found: expect.not.stringContaining("Require"),
  });
  expect(await checkDisk("/nowhere/at/all")).toMatchObject({ found: expect.stringMatching(/^\d+\.\d GiB free$/) });
});

it("a port that is taken is reported with its owner", async () => {
  const world = createVirtualRuntime();
  await world.servers.listen({ port: 8774, services: {} });
  expect((await checkPorts(world.servers, [])).map(({ outcome: severity }) => severity)).toEqual(["warning", "ok"]);
  const [taken] = await checkPorts(world.servers, [cluster({ state: "running" })]);
  expect(taken).toMatchObject({ outcome: "info", found: "taken by the cluster of /st/ci" });
});

it("processes of a cluster whose control plane was killed are left over", async () => {
  const proc = await mkdtemp(join(tmpdir(), "compute-agent-proc-"));
  const add = async (pid: string, ...words: string[]) => {
    await mkdir(join(proc, pid));
    await writeFile(join(proc, pid, "cmdline"), words.join("\0"));
  };
  try {
    await add("7", "node", "/x/dist/bin/compute-agent.js", "--host", "h1", "--state-dir", "/st/ci");
    await add("8", "node", "/x/compute-cluster.js", "up");
    await add("9", "vi", "compute-agent.conf", "--state-dir", "/st/ci");
    await mkdir(join(proc, "self"));
    const ours = await ourProcesses(proc);
    expect(ours).toEqual([{ pid: 7, program: "compute-agent", stateDir: "/st/ci" }]);
    expect(checkClusters([cluster({}), cluster({ state: "running" })], ours)).toMatchObject([
      {
        outcome: "warning",
        found: expect.stringContaining("compute-agent 7"),
        advice: expect.stringContaining("kill 7"),
      },
      { outcome: "ok" },
    ]);
    expect(checkClusters([cluster({ stateDir: "/st/other" })], ours)).toMatchObject([{ outcome: "ok" }]);
  } finally {
    await rm(proc, { recursive: true });
  }
  expect(await ourProcesses(join(proc, "gone"))).toEqual([]);
});

it("clients are reported with their versions and known issues; none is required", async () => {
  const printed = async ([program, , script = ""]: readonly string[]) => {
    const known: Readonly<Record<string, string>> = { openstack: "openstack 6.0.0\n", nova: "18.1.0\n" };
    return script.includes("openstacksdk") ? "openstacksdk 1.0.1\n" : (known[program ?? ""] ?? null);
  };
  expect(
    (await checkClients(printed)).map(({ what, outcome: severity, found }) => [what.split(" ")[0], severity, found]),
  ).toEqual([
    ["openstack", "ok", "6.0.0"],
    ["openstack", "info", "not found"],
    ["nova", "ok", "18.1.0"],
    ["openstacksdk", "ok", "1.0.1"],
    ["terraform", "info", "not found"],
    ["tofu", "info", "not found"],
  ]);
  const [openstack] = await checkClients(printed);
  expect(openstack?.advice).toContain("server evacuate");
});
