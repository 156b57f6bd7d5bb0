import { beforeEach, describe, expect, test } from "vitest";
import { conflict } from "../../../../src/control-plane/http/http-error.js";
import type { MigrationStatus, Service } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let service: Service;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  service = world.host("devstack1");
});

function put(body: unknown, version = 53, id = version >= 53 ? service.uuid : "disable") {
  return world.ask({ method: "PUT", url: `/compute/v2.1/os-services/${id}`, version, body });
}
function remove(query = "", version = 53) {
  return world.ask({
    method: "DELETE",
    url: `/compute/v2.1/os-services/${version >= 53 ? service.uuid : service.id}${query}`,
    version,
  });
}
const stored = () => world.store.services.get(service.id);
function evacuation(status: MigrationStatus) {
  return world.store.migrations.create({
    instanceUuid: world.server(null).uuid,
    migrationType: "evacuation",
    status,
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1" },
  });
}

describe("PUT", () => {
  test("2.5 row 4 disabling a service notifies its agent after the change is stored", async () => {
    const reply = await put({ status: "disabled", disabled_reason: "maint" });
    expect(reply.json("service")).toMatchObject({ status: "disabled", disabled_reason: "maint", id: service.uuid });
    expect(world.calls).toEqual([{ host: "devstack1", method: "set_host_enabled", params: { enabled: false } }]);
    await put({ status: "disabled", disabled_reason: "still" });
    expect(world.calls).toHaveLength(1);
    await put({ status: "enabled" });
    expect(stored()).toMatchObject({ disabled: false, disabledReason: null });
    expect(world.calls[1]?.params).toEqual({ enabled: true });
  });

  test("2.5 an agent that does not reply causes a warning only", async () => {
    world.agentResponds = false;
    expect((await put({ status: "disabled" })).status).toBe(200);
    expect(stored()?.disabled).toBe(true);
    expect(world.world.logs.some(({ level }) => level === "warn")).toBe(true);
  });

  test("2.5 a service that is down is not called", async () => {
    await put({ forced_down: true });
    await put({ status: "disabled" });
    expect(world.calls).toEqual([]);
  });

  test.each<[MigrationStatus, number]>([
    ["done", 400],
    ["accepted", 200],
    ["pre-migrating", 200],
    ["completed", 200],
  ])("2.5 row 5 forced_down=false with an evacuation %s: %i", async (status, expected) => {
    evacuation(status);
    expect((await put({ forced_down: true })).status).toBe(200);
    const reply = await put({ forced_down: "False" });
    expect(reply.status).toBe(expected);
    if (expected === 400) {
      expect(reply.message).toMatch(/^Unable to force up host devstack1 as `done` evacuation/);
    }
    expect(stored()?.forcedDown).toBe(expected === 400);
    const legacy = await put({ host: "devstack1", binary: "nova-compute", forced_down: false }, 11, "force-down");
    expect(legacy.status).toBe(expected);
  });

  test.each<[string, unknown, string, number, string]>([
    ["nothing", {}, "", 400, "No updates were requested. Fields 'status' or 'forced_down' should be specified."],
    ["only a reason", { disabled_reason: "x" }, "", 400, "No updates were requested."],
    [
      "a reason to enable",
      { status: "enabled", disabled_reason: "x" },
      "",
      400,
      "Specifying 'disabled_reason' with status 'enabled' is invalid.",
    ],
    ["no uuid", { status: "enabled" }, "5", 400, "Invalid uuid 5"],
    [
      "an unknown one",
      { status: "enabled" },
      "00000000-0000-4000-8000-000000000099",
      404,
      "Service 00000000-0000-4000-8000-000000000099 could not be found.",
    ],
    ["a status", { status: "tired" }, "", 400, "'tired' is not one of ['enabled', 'disabled']"],
    ["a flag", { forced_down: "perhaps" }, "", 400, "Invalid input for field/attribute forced_down. Value: perhaps."],
  ])("rejects: %s", async (_name, body, id, status, message) => {
    const reply = await put(body, 53, id || service.uuid);
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
    expect(stored()).toMatchObject({ disabled: false, forcedDown: false });
  });

  test("services of other binaries cannot be changed", async () => {
    const other = world.store.services.create({
      host: "ctl",
      binary: "nova-scheduler",
      topic: "scheduler",
      version: 73,
    });
    const reply = await put({ status: "disabled" }, 53, other.uuid);
    expect(reply.message).toBe(
      "Updating a nova-scheduler service is not supported. Only nova-compute services can be updated.",
    );
  });

  test.each<[string, unknown, number, unknown]>([
    ["disable", {}, 1, { status: "disabled" }],
    ["disable-log-reason", { disabled_reason: "x" }, 1, { status: "disabled", disabled_reason: "x" }],
    ["enable", {}, 52, { status: "enabled" }],
    ["force-down", { forced_down: true }, 11, { forced_down: true }],
  ])("before 2.53: %s", async (action, more, version, expected) => {
    const body = { host: "devstack1", binary: "nova-compute", ...(more as object) };
    const reply = await put(body, version, action);
    expect(reply.json("service")).toEqual({ host: "devstack1", binary: "nova-compute", ...(expected as object) });
  });

  test.each<[string, unknown, number, number, string]>([
    ["disable-log-reason", { host: "devstack1" }, 1, 400, "Missing disabled reason field"],
    ["force-down", { host: "devstack1" }, 11, 400, "Missing forced_down field"],
    ["force-down", { host: "devstack1" }, 10, 404, "Unknown action"],
    ["dance", { host: "devstack1" }, 10, 404, "Unknown action"],
    ["disable", { host: "mars" }, 1, 404, "Could not find binary nova-compute on host mars."],
  ])("before 2.53 rejects: %s %j", async (action, body, version, status, message) => {
    const reply = await put({ binary: "nova-compute", ...(body as object) }, version, action);
    expect([reply.status, reply.message]).toEqual([status, message]);
  });
});

describe("DELETE", () => {
  test.each([
    ["", false],
    ["?force=true", true],
  ])("7.1 is passed on to deleteService%s", async (query, force) => {
    let forwardedForce: unknown;
    world.deleteService = async (_service, options) => {
      forwardedForce = options.force;
    };
    const reply = await remove(query);
    expect([reply.status, reply.body]).toEqual([204, ""]);
    expect(forwardedForce).toBe(force);
  });

  test("7.1 step 1: ids are validated", async () => {
    const at = (id: string, version: number) =>
      world.ask({ method: "DELETE", url: `/compute/v2.1/os-services/${id}`, version });
    expect((await at("x", 53)).message).toBe("Invalid uuid x");
    expect((await at("x", 52)).message).toBe("Invalid input received: id must be an integer");
    expect((await at("99", 52)).message).toBe("Service 99 not found.");
    expect((await remove("", 52)).status).toBe(204);
  });

  test("7.1 step 1: services of other binaries are deleted without checks", async () => {
    const other = world.store.services.create({
      host: "ctl",
      binary: "nova-scheduler",
      topic: "scheduler",
      version: 73,
    });
    await world.ask({ method: "DELETE", url: `/compute/v2.1/os-services/${other.uuid}`, version: 53 });
    expect(world.deletedServices).toEqual([]);
    expect(world.store.services.get(other.id)).toBeNull();
  });

  test("a rejection by the policy is a 409 with its message", async () => {
    world.deleteService = async () => {
      throw conflict("provider p has consumers c");
    };
    const reply = await remove();
    expect([reply.status, reply.message]).toEqual([409, "provider p has consumers c"]);
  });
});

describe("properties changed by a microversion", () => {
  const first = async (path: string, key: string, version: number) =>
    (await world.ask({ url: `/compute/v2.1/${path}`, version })).json(key, 0) as Record<string, unknown>;

  test("2.11 forced_down, 2.53 uuids of services", async () => {
    expect(await first("os-services", "services", 10)).not.toHaveProperty("forced_down");
    expect(await first("os-services", "services", 11)).toMatchObject({ forced_down: false, id: service.id });
    expect((await first("os-services", "services", 53)).id).toBe(service.uuid);
  });

  test("2.28 cpu_info, 2.53 uuids, 2.75 servers, 2.88 amounts of hypervisors", async () => {
    const detail = (version: number, query = "") => first(`os-hypervisors/detail${query}`, "hypervisors", version);
    expect(typeof (await detail(27)).cpu_info).toBe("string");
    expect((await detail(28)).cpu_info).toEqual({ arch: "x86_64", model: "Nehalem" });
    expect((await detail(52)).id).toBe(1);
    expect((await detail(53)).id).toMatch(/-/);
    expect(await detail(74, "?with_servers=true")).not.toHaveProperty("servers");
    expect((await detail(75, "?with_servers=true")).servers).toEqual([]);
    expect(await detail(87)).toHaveProperty("vcpus");
    expect(await detail(88)).not.toHaveProperty("vcpus");
    expect((await detail(88)).uptime).toBeNull();
  });

  test.each([
    ["os-hypervisors/statistics", 87],
    ["os-hypervisors/devstack/search", 52],
    ["os-hypervisors/devstack/servers", 52],
  ])("%s ends with 2.%i", async (path, last) => {
    const status = async (version: number) => (await world.ask({ url: `/compute/v2.1/${path}`, version })).status;
    expect([await status(last), await status(last + 1)]).toEqual([200, 404]);
  });

  test("2.33 hypervisors are paged, 2.53 found by pattern", async () => {
    world.host("devstack2");
    const at = (query: string, version: number) => world.ask({ url: `/compute/v2.1/os-hypervisors${query}`, version });
    const page = await at("?limit=1", 33);
    expect(page.json("hypervisors")).toHaveLength(1);
    expect(page.json("hypervisors_links", 0, "href")).toBe(
      "http://127.0.0.1:8774/compute/v2.1/os-hypervisors?limit=1&marker=1",
    );
    expect((await at("?limit=1&marker=1", 33)).json("hypervisors", 0, "hypervisor_hostname")).toBe("devstack2");
    expect((await at("?marker=77", 33)).message).toBe("marker [77] not found");
    expect((await at("?hypervisor_hostname_pattern=stack2", 53)).json("hypervisors")).toHaveLength(1);
    expect((await at("?hypervisor_hostname_pattern=mars", 53)).status).toBe(404);
    expect((await at("?hypervisor_hostname_pattern=x&limit=1", 53)).status).toBe(400);
    expect((await at("?colour=red", 53)).message).toBe(
      "Additional properties are not allowed ('colour' was unexpected)",
    );
  });

  test("a node without its service is not listed", async () => {
    world.store.database.run("UPDATE services SET deleted = id");
    expect((await world.ask({ url: "/compute/v2.1/os-hypervisors" })).json("hypervisors")).toEqual([]);
    expect((await world.ask({ url: "/compute/v2.1/os-hypervisors/1" })).status).toBe(404);
  });
});
