import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

describe("visibility", () => {
  test("another project's server is not found", async () => {
    const { uuid } = world.server("devstack1");
    const token = await world.token("demo");
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["PUT", "", { server: { name: "mine" } }],
      ["POST", "/action", { "os-stop": null }],
      ["GET", "/os-instance-actions", undefined],
      ["PUT", "/metadata", { metadata: {} }],
    ] as const) {
      const reply = await world.ask({ method, url: `/compute/v2.1/servers/${uuid}${path}`, token, body });
      expect([method, path, reply.status, reply.message]).toEqual([
        method,
        path,
        404,
        `Instance ${uuid} could not be found.`,
      ]);
    }
    expect((await world.ask({ url: "/compute/v2.1/servers", token })).json("servers")).toEqual([]);
    expect(world.store.instances.get(uuid)?.displayName).toBe("vm1");
  });

  test("the owner sees fewer attributes than an administrator", async () => {
    const { uuid } = world.server("devstack1", { projectId: world.projectId("demo") });
    const url = `/compute/v2.1/servers/${uuid}`;
    const token = await world.token("demo");
    const visibleKeys = Object.keys((await world.ask({ url, token, version: 89 })).json("server") as object);
    expect(visibleKeys.filter((key) => key.startsWith("OS-EXT-SRV-ATTR:") || key === "host_status")).toEqual([]);
    const later = Object.keys((await world.ask({ url, token, version: 90 })).json("server") as object);
    expect(later.filter((key) => key.startsWith("OS-EXT-SRV-ATTR:"))).toEqual(["OS-EXT-SRV-ATTR:hostname"]);
  });

  test("only administrators may list all projects", async () => {
    world.server("devstack1", { projectId: world.projectId("demo") });
    const url = "/compute/v2.1/servers/detail?all_tenants=1";
    expect((await world.ask({ url })).json("servers")).toHaveLength(1);
    const reply = await world.ask({ url, token: await world.token("demo") });
    expect(reply.message).toBe("Policy doesn't allow os_compute_api:servers:detail:get_all_tenants to be performed.");
  });
});

describe("properties added to a server by a microversion", () => {
  const since: readonly (readonly [number, string])[] = [
    [3, "OS-EXT-SRV-ATTR:reservation_id"],
    [9, "locked"],
    [16, "host_status"],
    [19, "description"],
    [26, "tags"],
    [63, "trusted_image_certificates"],
    [71, "server_groups"],
    [73, "locked_reason"],
    [96, "pinned_availability_zone"],
  ];

  test.each(since)("2.%i: %s", async (minor, member) => {
    const { uuid } = world.server("devstack1");
    const members = async (version: number) =>
      Object.keys((await world.ask({ url: `/compute/v2.1/servers/${uuid}`, version })).json("server") as object);
    expect(await members(minor - 1)).not.toContain(member);
    expect(await members(minor)).toContain(member);
  });

  test("2.47 the flavor instead of a link", async () => {
    const { uuid } = world.server("devstack1");
    const flavor = async (version: number) =>
      (await world.ask({ url: `/compute/v2.1/servers/${uuid}`, version })).json("server", "flavor");
    expect(await flavor(46)).toMatchObject({ id: "1" });
    expect(await flavor(47)).toEqual({
      vcpus: 1,
      ram: 512,
      disk: 1,
      ephemeral: 0,
      swap: 0,
      original_name: "m1.tiny",
      extra_specs: {},
    });
  });

  test.each([
    [{}, "UP"],
    [{ disabled: true }, "MAINTENANCE"],
    [{ disabled: true, forcedDown: true }, "DOWN"],
  ])("host_status of a service that is %j", async (changes, status) => {
    const { uuid } = world.server("devstack1");
    const service = world.store.services.getByHost("devstack1", "nova-compute");
    world.store.services.update(service?.id ?? 0, changes);
    const url = `/compute/v2.1/servers/${uuid}`;
    expect((await world.ask({ url, version: 16 })).json("server", "host_status")).toBe(status);
  });

  test("host_status of a deleted server is empty although its host is up", async () => {
    const { uuid } = world.server("devstack1");
    world.store.instances.destroy(uuid);
    const listed = await world.ask({ url: "/compute/v2.1/servers/detail?deleted=true&all_tenants=1", version: 16 });
    expect(listed.json("servers")).toMatchObject([{ id: uuid, host_status: "" }]);
  });

  test("host_status is UNKNOWN for a service without reports", async () => {
    const { uuid } = world.server("devstack1");
    await world.world.advance(61_000);
    const url = `/compute/v2.1/servers/${uuid}`;
    expect((await world.ask({ url, version: 16 })).json("server", "host_status")).toBe("UNKNOWN");
  });

  test("a server in error has its fault, with details for administrators", async () => {
    const projectId = world.projectId("demo");
    const { uuid } = world.server(null, { vmState: "error", projectId });
    world.store.instances.addFault({
      instanceUuid: uuid,
      code: 500,
      message: "No valid host",
      details: "x",
      host: null,
    });
    const url = `/compute/v2.1/servers/${uuid}`;
    expect((await world.ask({ url })).json("server", "fault")).toMatchObject({ code: 500, details: "x" });
    const reply = await world.ask({ url, token: await world.token("demo") });
    expect(reply.json("server", "fault")).toEqual({
      code: 500,
      message: "No valid host",
      created: "2026-01-01T00:00:00Z",
    });
  });
});
