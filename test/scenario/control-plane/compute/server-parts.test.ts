import { beforeEach, describe, expect, test } from "vitest";
import { serverStatus, statesOfStatus } from "../../../../src/control-plane/compute/servers/server-status.js";
import type { Instance } from "../../../../src/records/index.js";
import { TASK_STATES, VM_STATES } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let instance: Instance;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  instance = world.server("devstack1", { metadata: { role: "web" }, tags: ["a"] });
});

function at(method: string, path: string, body?: unknown, version = 26) {
  return world.ask({ method, url: `/compute/v2.1/servers/${instance.uuid}${path}`, body, version });
}

describe("status", () => {
  test("exists for each pair of states, and the filter finds it", () => {
    for (const vmState of VM_STATES) {
      for (const taskState of [null, ...TASK_STATES]) {
        const found = statesOfStatus([serverStatus({ vmState, taskState })]);
        expect(found?.vmStates).toContain(vmState);
      }
    }
  });

  test.each([
    ["resized", null, "VERIFY_RESIZE"],
    ["resized", "resize_reverting", "REVERT_RESIZE"],
    ["error", "rebuild_spawning", "REBUILD"],
    ["stopped", "resize_prep", "RESIZE"],
    ["active", "reboot_started_hard", "HARD_REBOOT"],
    ["active", "deleting", "ACTIVE"],
    ["paused", "migrating", "MIGRATING"],
    ["shelved_offloaded", "spawning", "SHELVED_OFFLOADED"],
  ] as const)("%s, %s: %s", (vmState, taskState, status) => {
    expect(serverStatus({ vmState, taskState })).toBe(status);
  });
});

test("metadata is read, replaced and deleted", async () => {
  expect((await at("GET", "/metadata")).json("metadata")).toEqual({ role: "web" });
  expect((await at("POST", "/metadata", { metadata: { zone: "x" } })).json("metadata")).toEqual({
    role: "web",
    zone: "x",
  });
  expect((await at("PUT", "/metadata/zone", { meta: { zone: "y" } })).json("meta")).toEqual({ zone: "y" });
  expect((await at("PUT", "/metadata/zone", { meta: { other: "y" } })).message).toBe("Request body and URI mismatch");
  expect((await at("DELETE", "/metadata/zone")).status).toBe(204);
  expect((await at("GET", "/metadata/zone")).message).toBe("Metadata item was not found");
  expect((await at("PUT", "/metadata", { metadata: { "bad/key": "x" } })).status).toBe(400);
  expect((await at("PUT", "/metadata", { metadata: {} })).json("metadata")).toEqual({});
});

test("tags are read, replaced and deleted", async () => {
  expect((await at("GET", "/tags", undefined, 25)).status).toBe(404);
  const added = await at("PUT", "/tags/b%20c");
  expect([added.status, added.headers.location]).toEqual([
    201,
    `http://127.0.0.1:8774/compute/v2.1/servers/${instance.uuid}/tags/b%20c`,
  ]);
  expect((await at("PUT", "/tags/a")).status).toBe(204);
  expect((await at("GET", "/tags")).json("tags")).toEqual(["a", "b c"]);
  expect((await at("GET", "/tags/a")).status).toBe(204);
  expect((await at("DELETE", "/tags/nope")).message).toBe(`Instance ${instance.uuid} has no tag 'nope'`);
  expect((await at("GET", "/tags/nope")).message).toBe(`Server ${instance.uuid} has no tag 'nope'`);
  const invalid = (tag: string, why: string) =>
    `Tag '${tag}' is invalid. It must be a non empty string without characters '/' and ','. Validation error message: '${tag}' ${why}`;
  expect((await at("PUT", "/tags/a%2Cb")).message).toBe(invalid("a,b", "does not match '^[^,/]*$'"));
  const long = "x".repeat(61);
  expect((await at("PUT", `/tags/${long}`)).message).toBe(invalid(long, "is too long"));
  expect((await at("DELETE", "/tags/a")).status).toBe(204);
  expect((await at("PUT", "/tags", { tags: ["b", "c", "a", "b"] })).json("tags")).toEqual(["a", "b", "c"]);
  const many = Array.from({ length: 50 }, (_, index) => `t${index}`);
  expect((await at("PUT", "/tags", { tags: many })).json("tags")).toHaveLength(50);
  expect((await at("PUT", "/tags/more")).status).toBe(400);
  expect((await at("PUT", `/tags/${many[0]}`)).status, "Nova checks the limit before duplicates").toBe(400);
  expect((await at("PUT", "/tags", { tags: [...many, "more"] })).status).toBe(400);
  expect((await at("DELETE", "/tags")).status).toBe(204);
});

test("PUT updates name and description", async () => {
  const reply = await at("PUT", "", { server: { name: "new", description: "d" } });
  expect(reply.json("server")).toMatchObject({ name: "new", description: "d" });
  expect(reply.json("server")).not.toHaveProperty("OS-EXT-STS:vm_state");
  expect((await at("PUT", "", { server: { name: "newer" } }, 75)).json("server")).toHaveProperty("OS-EXT-STS:vm_state");
  expect((await at("PUT", "", { server: { hostname: "guest" } }, 89)).status).toBe(400);
  expect((await at("PUT", "", { server: { hostname: "guest" } }, 90)).status).toBe(200);
  expect(world.store.instances.get(instance.uuid)).toMatchObject({ displayName: "newer", hostname: "guest" });
});

test.each([
  ["/ips", { addresses: {} }],
  ["/os-interface", { interfaceAttachments: [] }],
  ["/os-volume_attachments", { volumeAttachments: [] }],
])("%s is empty", async (path, body) => {
  expect((await at("GET", path)).json()).toEqual(body);
});

describe("the state of a server", () => {
  const CHANGES = [
    ["POST", "/metadata", { metadata: { k: "v" } }, "update metadata"],
    ["PUT", "/metadata", { metadata: { k: "v" } }, "update metadata"],
    ["PUT", "/metadata/k", { meta: { k: "v" } }, "update metadata"],
    ["DELETE", "/metadata/role", undefined, "delete metadata"],
    ["PUT", "/tags", { tags: ["b"] }, "update tags"],
    ["PUT", "/tags/b", undefined, "update tag"],
    ["DELETE", "/tags/a", undefined, "delete tag"],
    ["DELETE", "/tags", undefined, "delete tags"],
  ] as const;

  test.each(CHANGES)("%s %s is 409 unless the server is active, paused, suspended or stopped", async (...change) => {
    const [method, path, body, verb] = change;
    for (const vmState of VM_STATES) {
      instance = world.server("devstack1", { metadata: { role: "web" }, tags: ["a"], vmState, taskState: "rebooting" });
      const allowed = ["active", "paused", "suspended", "stopped"].includes(vmState);
      const reply = await at(method, path, body);
      expect([vmState, reply.status < 300, allowed ? "" : reply.message]).toEqual([
        vmState,
        allowed,
        allowed ? "" : `Cannot '${verb}' instance ${instance.uuid} while it is in vm_state ${vmState}`,
      ]);
    }
  });

  test("of a server that never ran allows changes of tags, and neither of metadata nor actions", async () => {
    instance = world.server("devstack1", { launchedAt: null, metadata: { role: "web" } });
    const never = (verb: string) => `Cannot '${verb}' instance ${instance.uuid} while it is in launched_at None`;
    expect((await at("PUT", "/tags/b")).status).toBe(201);
    expect((await at("DELETE", "/metadata/role")).message).toBe(never("delete metadata"));
    for (const [action, verb] of [
      [{ "os-stop": null }, "stop"],
      [{ reboot: { type: "HARD" } }, "reboot"],
      [{ pause: null }, "pause"],
      [{ createImage: { name: "x" } }, "createImage"],
    ] as const) {
      expect((await world.act(instance, action)).message).toBe(never(verb));
    }
    expect((await at("DELETE", "")).status).toBe(204);
  });

  test("a locked soft-deleted server cannot be restored by its owner", async () => {
    const projectId = world.projectId("demo");
    instance = world.server("devstack1", { vmState: "soft-delete", locked: true, projectId });
    const reply = await world.act(instance, { restore: null }, 1, await world.token("demo"));
    expect([reply.status, reply.message]).toEqual([409, `Instance ${instance.uuid} is locked`]);
  });
});
