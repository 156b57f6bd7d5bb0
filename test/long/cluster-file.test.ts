import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiResponse } from "../process/support/cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { run } from "../process/support/new-driver.js";
import { Program } from "../process/support/program.js";

const FILE = `
port: 0
processes: 1
hosts:
  - { name: "rack[1-2]", vcpus: 64, availability_zone: east, faults: ["driver.spawn=slow:10ms"] }
  - { name: gpu1, traits: [CUSTOM_GPU] }
flavors: [{ name: tiny, vcpus: 1, ram: 128 }]
images: [{ name: debian }]
projects: [{ name: research }]
users: [{ name: ada, roles: { research: [member] } }]
`;

function listed<T>({ body }: ApiResponse, key: string): readonly T[] {
  return (body as unknown as Readonly<Record<string, readonly T[]>>)[key] ?? [];
}

describe("a cluster file", () => {
  let folder: string;
  let path: string;
  let cluster: Program | undefined;

  const up = (...args: string[]) => ["up", "--file", path, "--state-dir", join(folder, "state"), ...args];
  async function start(...args: string[]): Promise<LocalCloud> {
    cluster = new Program("compute-cluster", up(...args));
    await cluster.printed(/Ctrl-C stops all of it/);
    return LocalCloud.over(join(folder, "state"), cluster.stdout.match(/control-plane +ready +(\S+)/)?.[1] ?? "");
  }
  const check = async () => (await run("compute-cluster", up("--check"))).stdout.trim();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "compute-agent-file-"));
    path = join(folder, "cluster.yaml");
    await writeFile(path, FILE);
  });
  afterEach(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("starts the described cluster, changes nothing the second time, and destroys only with --yes", async () => {
    expect((await check()).split("\n").slice(1)).toEqual([
      "  + host rack[1-2],gpu1",
      "  + project research",
      "  + user ada",
      "  + flavor tiny",
      "  + image debian",
      "  + aggregate east: hosts rack[1-2] join",
      "  + fault rack[1-2]: driver.spawn=slow:10ms",
    ]);
    const cloud = await start();
    const services = await cloud.request("GET", "/compute/v2.1/os-services?binary=nova-compute");
    expect(
      listed<{ host: string; zone: string; state: string }>(services, "services")
        .map(({ host, zone, state }) => `${host} ${zone} ${state}`)
        .sort(),
    ).toEqual(["gpu1 nova up", "rack1 east up", "rack2 east up"]);
    const flavors = await cloud.request("GET", "/compute/v2.1/flavors");
    expect(listed<{ name: string }>(flavors, "flavors").map(({ name }) => name)).toEqual(["tiny"]);
    // Nothing changes, whether the cluster runs or was killed.
    expect(await check()).toBe(`${path}: nothing changes`);
    const written = await run("compute-cluster", ["file", "--state-dir", join(folder, "state")]);
    await cluster?.kill();
    expect(await check()).toBe(`${path}: nothing changes`);
    const copy = join(folder, "copy.yaml");
    await writeFile(copy, written.stdout);
    expect(written.stdout).toContain("vcpus: 64");
    expect((await run("compute-cluster", ["up", "--file", copy, "--check"])).stdout).toBe(`${copy}: nothing changes\n`);

    await writeFile(path, FILE.replace("rack[1-2]", "rack[2-3]").replace("name: debian", "name: other"));
    const rejected = await run("compute-cluster", up());
    expect([rejected.code, rejected.stderr]).toEqual([3, expect.stringContaining("confirm it with --yes")]);
    expect(rejected.stdout).toContain("  - host rack1 (destroys)\n");
    const again = await start("--yes");
    expect(cluster?.stdout).toContain("Removed: rack1.");
    const images = await again.request("GET", "/image/v2/images");
    expect(listed<{ name: string }>(images, "images").map(({ name }) => name)).toEqual([
      ...["other", "cirros", "cirros-0.6.3-x86_64-disk"],
    ]);
    expect(await check()).toBe(`${path}: nothing changes`);
  });
});
