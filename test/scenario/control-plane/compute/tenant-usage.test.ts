import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

const HOUR = 3_600_000;

let world: ApiWorld;
let now: number;

const at = (time: number): string => new Date(time).toISOString().slice(0, 19);

function usage(path: string, query: Readonly<Record<string, string | number>> = {}, version = 1, token?: string) {
  const text = Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  return world.ask({ url: `/compute/v2.1/os-simple-tenant-usage${path}?${text}`, version, token });
}

function server(changes: Parameters<ApiWorld["server"]>[1]): Instance {
  return world.server("devstack1", changes);
}

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor({ vcpus: 2, memoryMb: 512, rootGb: 1 });
  world.host("devstack1");
  now = world.world.now;
});

describe("a project's usage", () => {
  test("counts each server from launch to termination within the period", async () => {
    const running = server({ launchedAt: now - 10 * HOUR, displayName: "running" });
    const ended = server({ launchedAt: now - 5 * HOUR, displayName: "ended" });
    world.store.instances.save(ended.uuid, { terminatedAt: now - 2 * HOUR });
    world.store.instances.destroy(ended.uuid);
    server({ launchedAt: null, vmState: "building" });
    server({ launchedAt: now - HOUR, projectId: world.projectId("demo") });
    const project = world.projectId("admin");
    const query = { start: at(now - 4 * HOUR), end: at(now + HOUR) };
    const tenantUsage = (await usage(`/${project}`, query)).json("tenant_usage") as Record<string, unknown>;
    expect(tenantUsage).toMatchObject({ tenant_id: project, total_hours: 6, total_vcpus_usage: 12 });
    expect(tenantUsage).toMatchObject({ total_memory_mb_usage: 6 * 512, total_local_gb_usage: 6 });
    const rows = tenantUsage.server_usages as Record<string, unknown>[];
    expect(rows.map(({ name, hours, state }) => [name, hours, state]).sort()).toEqual([
      ["ended", 2, "terminated"],
      ["running", 4, "active"],
    ]);
    expect(rows.find(({ name }) => name === "running")).toMatchObject({
      instance_id: running.uuid,
      flavor: "m1.tiny",
      vcpus: 2,
      local_gb: 1,
      ended_at: null,
      uptime: 10 * 3600,
    });
    expect(rows.find(({ name }) => name === "ended")?.uptime).toBe(3 * 3600);
  });

  test("is empty if nothing ran", async () => {
    expect((await usage(`/${world.projectId("admin")}`)).json()).toEqual({ tenant_usage: {} });
  });

  test("is returned to readers of the project, and the list to administrators", async () => {
    const token = await world.token("demo");
    expect((await usage(`/${world.projectId("demo")}`, {}, 1, token)).status).toBe(200);
    expect((await usage(`/${world.projectId("admin")}`, {}, 1, token)).status).toBe(403);
    expect((await usage("", {}, 1, token)).status).toBe(403);
  });

  test.each([["2026-13-01T00:00:00"], ["yesterday"], ["2026-01-01 00:00:00"], ["2026-01-01T00:00:00Z"]])(
    "%s is an invalid time: 400",
    async (start) => {
      const reply = await usage("", { start });
      expect([reply.status, reply.message]).toEqual([400, "Invalid datetime string: Datetime is in invalid format"]);
    },
  );

  test("a period that ends before it begins is a 400", async () => {
    const reply = await usage("", { start: at(now), end: at(now - HOUR) });
    expect([reply.status, reply.message]).toEqual([
      400,
      "Invalid start time. The start time cannot occur after the end time.",
    ]);
  });
});

describe("the list of usages", () => {
  const wide = () => ({ start: at(now - 24 * HOUR), end: at(now + HOUR) });

  test("contains servers only on request", async () => {
    server({ launchedAt: now - HOUR });
    expect((await usage("", wide())).json("tenant_usages", 0)).not.toHaveProperty("server_usages");
    expect((await usage("", { ...wide(), detailed: 1 })).json("tenant_usages", 0, "server_usages", 0)).toMatchObject({
      hours: 1,
    });
  });

  test("is paged since 2.40 and ends with the last server", async () => {
    const uuids = [1, 2, 3].map(() => server({ launchedAt: now - HOUR }).uuid).sort();
    const query = { ...wide(), detailed: 1, limit: 2 };
    const first = await usage("", query, 40);
    expect(first.json("tenant_usages", 0, "server_usages")).toHaveLength(2);
    expect(first.json("tenant_usages_links", 0, "href")).toContain(`marker=${uuids[1]}`);
    const second = await usage("", { ...query, marker: uuids[1] ?? "" }, 40);
    expect(second.json("tenant_usages", 0, "server_usages", 0, "instance_id")).toBe(uuids[2]);
    expect(second.json()).not.toHaveProperty("tenant_usages_links");
    const unknown = await usage("", { ...query, marker: crypto.randomUUID() }, 40);
    expect([unknown.status, unknown.message]).toEqual([400, expect.stringMatching(/^Marker .* could not be found\.$/)]);
    expect((await usage("", query, 39)).json("tenant_usages", 0, "server_usages")).toHaveLength(3);
  });

  test("has the requested period with microseconds", async () => {
    server({ launchedAt: now - HOUR });
    const [start, end] = ["2025-12-31T22:00:00.123456", "2025-12-31T23:30:00.000001"];
    const reply = await usage("", { start, end });
    expect(reply.json("tenant_usages", 0)).toMatchObject({ start, stop: end });
  });

  test("rejects unknown parameters since 2.75", async () => {
    expect((await usage("", { colour: "red" }, 74)).status).toBe(200);
    expect((await usage("", { colour: "red" }, 75)).status).toBe(400);
  });
});
