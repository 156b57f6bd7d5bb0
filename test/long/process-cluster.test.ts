import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type * as Published from "../../src/cluster/index.js";

/** The published bundle, since it starts the programs beside it. */
const LIBRARY = new URL("../../dist/bin/cluster.mjs", import.meta.url).href;

describe("a cluster of processes that a test starts", () => {
  let start: typeof Published.startCluster;
  beforeAll(async () => {
    start = ((await import(LIBRARY)) as typeof Published).startCluster;
  });

  it("has hosts, faults, snapshots and a reset, and leaves nothing behind", async () => {
    const cloud = await start({ hosts: 2, inProcess: false });
    try {
      expect(cloud.hostNames.toSorted()).toEqual(["devstack1", "devstack2"]);
      const host = cloud.hosts("devstack1");
      await host.kill();
      expect(await host.state()).toBe("killed");
      await host.start();
      expect(await host.state()).toBe("serving");
      await cloud.snapshot("one");
      await cloud.faults.set("devstack1", "driver.spawn=fail:once");
      await host.stop();
      await cloud.reset();
      expect(await host.state()).toBe("serving");
      expect(await cloud.faults.list("devstack1")).toEqual([]);
      await cloud.restore("one");
      await cloud.settled();
      expect(await cloud.audit()).toEqual([]);
      expect(cloud.cloudsYaml).toContain(cloud.url);
      expect(cloud.credentials.authUrl).toBe(`${cloud.url}/identity/v3`);
      expect(await (await cloud.fetch("compute", "/servers")).json()).toMatchObject({ servers: [] });
      expect(await cloud.token()).toBe(await cloud.token());
      expect(() => cloud.requests).toThrow("compute-agent logs");
      await expect(cloud.advance(1)).rejects.toThrow("real time");
    } finally {
      await cloud.stop();
    }
    await expect(stat(cloud.stateDir)).rejects.toThrow("ENOENT");
  });

  it("rejects options that it does not support", async () => {
    const folder = await mkdtemp(join(tmpdir(), "process-cluster-"));
    try {
      const file = join(folder, "cluster.yaml");
      await writeFile(file, "hostes: []\n");
      const rejectionOf = (options: Published.StartClusterOptions) =>
        start({ inProcess: false, ...options }).then(
          () => "started",
          (error: unknown) => String(error),
        );
      expect(await rejectionOf({ file })).toContain("hostes");
      expect(await rejectionOf({ time: "virtual" })).toContain("uses real time");
      expect(await rejectionOf({ seed: 1 })).toContain("remove seed");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
