import { describe, expect, it } from "vitest";
import { withClient, withCluster } from "./support/client.js";

describe("a cluster with virtual time", () => {
  it("completes operations while its time does not pass", async () => {
    await withCluster({ hosts: 1, time: "virtual" }, async (cloud, client) => {
      const before = cloud.now;
      const id = await client.create("vm1");
      await expect.poll(() => client.status(id)).toBe("ACTIVE");
      expect(cloud.now).toBe(before);
    });
  });

  it("confirms a resize automatically after its window, and not before", async () => {
    const config = { DEFAULT: { resize_confirm_window: 1800 } };
    await withCluster({ hosts: 2, time: "virtual", config }, async (cloud, client) => {
      const id = await client.create("vm1");
      await cloud.settled();
      await client.act(id, { resize: { flavorRef: await client.flavor("m1.small") } });
      await cloud.settled();
      await cloud.advance(1_700);
      expect(await client.status(id)).toBe("VERIFY_RESIZE");
      await cloud.advance(200);
      expect(await client.status(id)).toBe("ACTIVE");
      expect(await cloud.audit()).toEqual([]);
    });
  });

  it("advances time for operations that wait for it", async () => {
    await withCluster({ hosts: 1, time: "virtual" }, async (cloud, client) => {
      await cloud.faults.set("devstack1", "driver.spawn=slow:90s");
      const before = cloud.now;
      const id = await client.create("vm1");
      await cloud.settled();
      expect(await client.status(id)).toBe("ACTIVE");
      expect(cloud.now - before).toBeGreaterThanOrEqual(90_000);
      await cloud.faults.set("devstack1", "driver.destroy=hang");
      await client.remove(id);
      await expect(cloud.settled({ timeout: 30 })).rejects.toThrow(
        "has not settled within 30 s: server vm1 is deleting",
      );
    });
  });

  it("lets time pass continuously with autoAdvance", async () => {
    await withCluster({ hosts: 1, time: "virtual", autoAdvance: true }, async (cloud, client) => {
      await cloud.faults.set("devstack1", "driver.spawn=slow:90s");
      const id = await client.create("vm1");
      await expect.poll(() => client.status(id), { timeout: 10_000 }).toBe("ACTIVE");
      const before = cloud.now;
      await expect.poll(() => cloud.now - before).toBeGreaterThan(10_000);
      await cloud.reset();
      const reset = cloud.now;
      await expect.poll(() => cloud.now - reset).toBeGreaterThan(10_000);
      expect(await client.names()).toEqual([]);
    });
  });

  it("runs the periodic work of idle hours once, and hosts that are up stay up", async () => {
    await withCluster({ hosts: 2, time: "virtual" }, async (cloud) => {
      await cloud.hosts("devstack2").kill();
      const before = cloud.now;
      cloud.clearRequests();
      await cloud.advance(7_200);
      expect(cloud.now - before).toBe(7_200_000);
      const passes = cloud.requests.filter(({ service, user }) => service === "placement" && user === "nova");
      expect(passes.length).toBeGreaterThan(0);
      // Without skipping, there would be one per minute in two hours.
      expect(passes.length).toBeLessThan(100);
      const states = await withClient(cloud, (client) => client.services());
      expect(states).toEqual({ devstack1: "up", devstack2: "down" });
    });
  });

  it("has hosts that servers can be scheduled to after a reset, a restore and a start, however old the last heartbeat is", async () => {
    await withCluster({ hosts: 1, time: "virtual" }, async (cloud, client) => {
      const boots = async (name: string) => {
        const id = await client.create(name);
        await cloud.settled();
        return client.status(id);
      };
      await cloud.snapshot("one");
      await cloud.advance(61);
      await cloud.reset();
      expect(await boots("after the reset")).toBe("ACTIVE");
      await cloud.advance(61);
      await cloud.restore("one");
      expect(await boots("after the restore")).toBe("ACTIVE");
      await cloud.hosts().kill();
      await cloud.advance(61);
      await cloud.hosts().start();
      expect(await boots("after the start")).toBe("ACTIVE");
    });
  });

  it("does not wait for the heartbeat of a host without servers", async () => {
    await withCluster({ hosts: 2, time: "virtual" }, async (cloud, client) => {
      await client.changeService("devstack2", { forced_down: true });
      await cloud.hosts("devstack2").kill();
      await cloud.advance(61);
      const before = cloud.now;
      await cloud.hosts("devstack2").start();
      expect(cloud.now - before).toBeLessThan(5_000);
    });
  });

  it("lets tokens expire", async () => {
    await withCluster({ hosts: 0, time: "virtual" }, async (cloud, client) => {
      await cloud.advance(3_500);
      expect(await client.names()).toEqual([]);
      await cloud.advance(200);
      await expect(client.names()).rejects.toThrow("401");
    });
  });

  it("rejects advancing real time", async () => {
    await withCluster({ hosts: 0 }, async (cloud) => {
      await expect(cloud.advance(1)).rejects.toThrow('time: "virtual"');
    });
    await withCluster({ hosts: 0, time: "virtual" }, async (cloud) => {
      await expect(cloud.advance(-1)).rejects.toThrow("found -1 seconds");
    });
  });
});
