import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { startCluster } from "../../../src/cluster/index.js";
import { withCluster } from "./support/client.js";

describe("a cluster in the test's process", () => {
  it("builds, resizes and deletes servers for clients on the network", async () => {
    await withCluster({ hosts: 2 }, async (cloud, client) => {
      const id = await client.create("vm1", "devstack1");
      await cloud.settled();
      expect(await client.status(id)).toBe("ACTIVE");
      await client.act(id, { resize: { flavorRef: await client.flavor("m1.small") } });
      await cloud.settled();
      expect(await client.status(id)).toBe("VERIFY_RESIZE");
      await client.act(id, { confirmResize: null });
      await client.remove(id);
      await cloud.settled();
      expect(await client.names()).toEqual([]);
      expect(await cloud.audit()).toEqual([]);
    });
  });

  it("records the requests to its APIs and their users, without tokens and passwords", async () => {
    await withCluster({ hosts: 1 }, async (cloud, client) => {
      expect(cloud.requests.some(({ service, user }) => service === "placement" && user === "nova")).toBe(true);
      cloud.clearRequests();
      const id = await client.create("vm1");
      await cloud.settled();
      await client.status(id);
      expect(cloud.requests.filter(({ service, method }) => service === "compute" && method === "POST")).toEqual([
        {
          service: "compute",
          method: "POST",
          path: "/v2.1/servers",
          query: "",
          status: 202,
          user: "admin",
          requestId: expect.stringMatching(/^req-/),
        },
      ]);
      const { password } = cloud.credentials;
      expect(password).not.toBe("");
      expect(JSON.stringify(cloud.requests)).not.toContain(password);
    });
  });

  it("runs beside other clusters, and leaves nothing behind", async () => {
    const clouds = await Promise.all(Array.from({ length: 3 }, () => startCluster({ hosts: 1 })));
    expect(new Set(clouds.map(({ url }) => url)).size).toBe(3);
    const roots = clouds.map(({ stateDir }) => stateDir);
    expect(await Promise.all(roots.map((root) => readdir(root)))).toEqual(
      roots.map(() => expect.arrayContaining(["clouds.yaml", "cluster.json"])),
    );
    await Promise.all(clouds.map((cloud) => cloud[Symbol.asyncDispose]()));
    await Promise.all(clouds.map((cloud) => cloud.stop()));
    await Promise.all(roots.map((root) => expect(readdir(root)).rejects.toThrow("ENOENT")));
    expect(() => clouds[0]?.url).toThrow("does not run");
  });

  it("continues in an existing state directory, also after an unclean end", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "cloud-"));
    try {
      await withCluster({ hosts: 1, stateDir }, async (cloud, client) => {
        await client.create("vm1");
        await cloud.settled();
      });
      await withCluster({ hosts: 1, stateDir }, async (_cloud, client) => {
        expect(await client.names()).toEqual(["vm1"]);
      });
    } finally {
      await rm(stateDir, { recursive: true });
    }
  });

  it("has hosts that are killed, stopped and started independently", async () => {
    await withCluster({ hosts: 2 }, async (cloud, client) => {
      const [one, other] = [cloud.hosts("devstack1"), cloud.hosts("devstack2")];
      await one.kill();
      expect([await one.state(), await other.state()]).toEqual(["killed", "serving"]);
      await other.stop();
      expect(await other.state()).toBe("stopped");
      await cloud.hosts().start();
      expect([await one.state(), await other.state()]).toEqual(["serving", "serving"]);
      await client.create("vm1", "devstack1");
      await cloud.settled();
      expect(() => cloud.hosts("devstack9")).toThrow("unknown host devstack9; known hosts: devstack1, devstack2");
      await expect(cloud.hosts("devstack[1-2]").state()).rejects.toThrow("found 2 hosts, expected one");
    });
  });

  it("has faults that apply at once, also after the host was stopped", async () => {
    await withCluster({ hosts: 1 }, async (cloud, client) => {
      await cloud.hosts().stop();
      await cloud.hosts().start();
      await cloud.faults.set("devstack1", "driver.spawn=fail:once");
      expect(await cloud.faults.list("devstack1")).toEqual(["driver.spawn=fail:once"]);
      const id = await client.create("vm1");
      await cloud.settled();
      expect(await client.status(id)).toBe("ERROR");
      await cloud.faults.clear("devstack1");
      expect(await cloud.faults.list("devstack1")).toEqual([]);
      await expect(cloud.faults.set("devstack1", "driver.sporn=fail")).rejects.toThrow("driver.sporn");
      await expect(cloud.faults.clear("devstack1", "driver.sporn")).rejects.toThrow("driver.sporn");
    });
  });

  it("applies a cluster file, with options of nova.conf", async () => {
    const folder = await mkdtemp(join(tmpdir(), "cloud-"));
    try {
      const file = join(folder, "cluster.yaml");
      await writeFile(
        file,
        "hosts:\n  - { name: 'rack[1-2]', availability_zone: east }\nflavors:\n  - { name: m1.tiny, vcpus: 1, ram: 64 }\n",
      );
      await withCluster({ file, config: { DEFAULT: { resize_confirm_window: 1 } } }, async (cloud, client) => {
        expect(cloud.hostNames).toEqual(["rack1", "rack2"]);
        expect(await client.create("vm1")).toMatch(/^[0-9a-f-]{36}$/);
        await cloud.settled();
        expect(await client.names()).toEqual(["vm1"]);
      });
      await writeFile(file, "hostes: []\n");
      await expect(startCluster({ file })).rejects.toThrow("hostes");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("rejects what it cannot start, and leaves nothing behind", async () => {
    const folder = await mkdtemp(join(tmpdir(), "cloud-"));
    vi.stubEnv("TMPDIR", folder);
    try {
      const failed = startCluster({ hosts: 1, config: { DEFAULT: { compute_driver: "nobody" } } });
      await expect(failed).rejects.toThrow("nobody");
      expect(await readdir(folder)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    }
  });
});
