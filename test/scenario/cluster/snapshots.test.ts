import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startCluster } from "../../../src/cluster/index.js";
import { withCluster } from "./support/client.js";

describe("a restored cluster", () => {
  it("is in the state after its start, whatever was in progress, with the same URL and tokens", async () => {
    await withCluster({ hosts: 2 }, async (cloud, client) => {
      const { url } = cloud;
      await client.create("vm1");
      await cloud.settled();
      await cloud.faults.set("devstack1", "driver.spawn=hang");
      await client.create("vm2", "devstack1");
      await cloud.hosts("devstack2").kill();
      await cloud.reset();
      expect(cloud.url).toBe(url);
      expect(await client.names()).toEqual([]);
      expect(await cloud.faults.list("devstack1")).toEqual([]);
      expect(await cloud.hosts("devstack2").state()).toBe("serving");
      const id = await client.create("vm3", "devstack1");
      await cloud.settled();
      expect(await client.status(id)).toBe("ACTIVE");
      expect(await cloud.audit()).toEqual([]);
      await cloud.reset();
      await cloud.reset();
      expect(await client.names()).toEqual([]);
    });
  });

  it("has the servers, guests and faults of a snapshot that was taken while it ran", async () => {
    await withCluster({ hosts: 2 }, async (cloud, client) => {
      const savedServerId = await client.create("kept", "devstack1");
      await cloud.settled();
      await cloud.faults.set("devstack2", "driver.destroy=fail:once");
      await client.create("under way", "devstack2");
      await cloud.snapshot("one");
      await cloud.settled();
      await client.remove(savedServerId);
      await cloud.settled();
      await cloud.restore("one");
      await cloud.settled();
      expect(await client.names()).toEqual(["kept", "under way"]);
      expect(await client.status(savedServerId)).toBe("ACTIVE");
      expect(await cloud.faults.list("devstack2")).toEqual(["driver.destroy=fail:once"]);
      await client.remove(savedServerId);
      await cloud.settled();
      expect(await client.names()).toEqual(["under way"]);
      expect(await cloud.audit()).toEqual([]);
    });
  });

  it("has the same hosts killed, stopped and forced down as when it was saved, and starts them on request", async () => {
    await withCluster({ hosts: 3 }, async (cloud, client) => {
      const states = () =>
        Promise.all(["devstack1", "devstack2", "devstack3"].map((host) => cloud.hosts(host).state()));
      await client.changeService("devstack3", { forced_down: true });
      await cloud.hosts("devstack1").kill();
      await cloud.hosts("devstack2").stop();
      await cloud.snapshot("broken");
      await cloud.hosts().start();
      await client.changeService("devstack3", { forced_down: false });
      await cloud.restore("broken");
      expect(await states()).toEqual(["killed", "stopped", "serving"]);
      expect((await client.services()).devstack3).toBe("down");
      await cloud.hosts("devstack1").start();
      expect(await states()).toEqual(["serving", "stopped", "serving"]);
      await cloud.restore("broken", { startHosts: true });
      expect(await states()).toEqual(["serving", "serving", "serving"]);
      await cloud.hosts("devstack2").kill();
      await cloud.reset();
      expect(await states()).toEqual(["serving", "serving", "serving"]);
    });
  });

  it("leaves single hosts of a pool down", async () => {
    await withCluster({ hosts: 9 }, async (cloud) => {
      await cloud.hosts("devstack[2-3]").kill();
      await cloud.snapshot("broken");
      await cloud.hosts().start();
      await cloud.restore("broken");
      const states = await Promise.all(cloud.hostNames.map((host) => cloud.hosts(host).state()));
      expect(states.map((state, at) => `${at + 1} ${state}`).filter((text) => !text.endsWith("serving"))).toEqual([
        "2 killed",
        "3 killed",
      ]);
      await cloud.hosts("devstack[2-3]").start();
    });
  });

  it("saves its snapshots in the given state directory", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "cloud-"));
    try {
      await withCluster({ hosts: 1, stateDir }, async (cloud, client) => {
        await client.create("vm1");
        await cloud.settled();
        await cloud.snapshot("one");
      });
      await withCluster({ hosts: 1, stateDir }, async (cloud, client) => {
        await client.create("vm2");
        await cloud.settled();
        await cloud.restore("one");
        expect(await client.names()).toEqual(["vm1"]);
      });
    } finally {
      await rm(stateDir, { recursive: true });
    }
  });

  it("continues its virtual time", async () => {
    await withCluster({ hosts: 1, time: "virtual" }, async (cloud, client) => {
      await client.create("vm1");
      await cloud.advance(600);
      const before = cloud.now;
      await cloud.reset();
      expect(cloud.now - before).toBeLessThan(60_000);
      await client.create("vm2");
      await cloud.settled();
      expect(await client.names()).toEqual(["vm2"]);
    });
  });

  it("rejects an unknown snapshot and an invalid name", async () => {
    const cloud = await startCluster({ hosts: 0 });
    try {
      await expect(cloud.restore("nothing")).rejects.toThrow(
        "does not exist; list all with compute-agent snapshot list",
      );
      await expect(cloud.snapshot("../x")).rejects.toThrow('invalid name of a snapshot: "../x"');
      await cloud.reset();
    } finally {
      await cloud.stop();
    }
  });
});
