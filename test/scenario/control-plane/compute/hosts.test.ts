import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

function ask(path: string, body?: unknown, version = 42) {
  const method = body === undefined ? "GET" : "PUT";
  return world.ask({ method, url: `/compute/v2.1/os-hosts${path}`, body, version });
}

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor({ vcpus: 2, memoryMb: 512, rootGb: 1, ephemeralGb: 2 });
  world.host("devstack1");
});

describe("os-hosts, until 2.42", () => {
  test("lists enabled services, also by zone", async () => {
    world.store.services.create({ host: "api", binary: "nova-scheduler", topic: "scheduler", version: 73 });
    const off = world.host("devstack2");
    world.store.services.update(off.id, { disabled: true });
    const all = (await ask("")).json("hosts");
    expect(all).toContainEqual({ host_name: "devstack1", service: "compute", zone: "nova" });
    expect(all).toContainEqual({ host_name: "api", service: "scheduler", zone: "internal" });
    expect(JSON.stringify(all)).not.toContain("devstack2");
    expect((await ask("?zone=internal")).json("hosts")).toHaveLength(1);
  });

  test("returns a host's resources and their usage by project", async () => {
    world.server("devstack1");
    world.server("devstack1", { projectId: world.projectId("demo") });
    const resource = (project: string, cpu: number, memory: number, disk: number) => ({
      resource: { host: "devstack1", project, cpu, memory_mb: memory, disk_gb: disk },
    });
    expect((await ask("/devstack1")).json("host")).toEqual([
      resource("(total)", 1000, 800_000, 600_000),
      resource("(used_now)", 0, 512, 0),
      resource("(used_max)", 4, 1024, 6),
      resource(world.projectId("admin"), 2, 512, 3),
      resource(world.projectId("demo"), 2, 512, 3),
    ]);
  });

  test("has the agent disable the host", async () => {
    world.agentReplies.set_host_enabled = "disabled";
    const reply = await ask("/devstack1", { status: "Disable" });
    expect([reply.status, reply.json()]).toEqual([200, { host: "devstack1", status: "disabled" }]);
    expect(world.calls.at(-1)).toMatchObject({ method: "set_host_enabled", params: { enabled: false } });
    world.fence("devstack1");
    const down = await ask("/devstack1", { status: "enable" });
    expect([down.status, down.message]).toEqual([400, "Compute service of devstack1 is unavailable at this time."]);
  });

  test("supports neither maintenance nor power actions, like libvirt's driver", async () => {
    const unsupported = [501, "The requested functionality is not supported."];
    const maintenance = await ask("/devstack1", { maintenance_mode: "enable" });
    expect([maintenance.status, maintenance.message]).toEqual(unsupported);
    for (const action of ["startup", "shutdown", "reboot"]) {
      const reply = await ask(`/devstack1/${action}`);
      expect([reply.status, reply.message]).toEqual(unsupported);
      expect((await ask(`/nowhere/${action}`)).status).toBe(404);
    }
  });

  test("rejects unknown hosts and values, and ends with 2.42", async () => {
    expect((await ask("/nowhere")).message).toBe("Host 'nowhere' is not mapped to any cell");
    expect((await ask("/nowhere", { status: "enable" })).status).toBe(404);
    expect((await ask("/devstack1", { status: "off" })).status).toBe(400);
    expect((await ask("/devstack1", { power: "off" })).status).toBe(400);
    for (const path of ["", "/devstack1", "/devstack1/reboot"]) {
      expect((await ask(path, undefined, 43)).status).toBe(404);
    }
  });
});
