import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let instance: Instance;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  instance = world.server("devstack1", { systemMetadata: { password_0: "abc", password_1: "def", password_2: "" } });
});

describe("console URLs of a cluster without consoles", () => {
  test.each([
    ["os-getVNCConsole", "novnc"],
    ["os-getSPICEConsole", "spice-html5"],
    ["os-getRDPConsole", "rdp-html5"],
    ["os-getSerialConsole", "serial"],
  ])("%s is available until 2.5", async (action, type) => {
    const reply = await world.act(instance, { [action]: { type } }, 5);
    expect([reply.status, reply.message]).toEqual([400, `Unavailable console type ${type}.`]);
    expect((await world.act(instance, { [action]: { type: "telnet" } }, 5)).message).toMatch(/^Invalid input for/);
    expect((await world.act(instance, { [action]: { type } }, 6)).status).toBe(404);
  });

  function create(version: number, protocol: string, type: string, { uuid } = instance) {
    const body = { remote_console: { protocol, type } };
    return world.ask({ method: "POST", url: `/compute/v2.1/servers/${uuid}/remote-consoles`, body, version });
  }

  test("remote-consoles is available since 2.6, with mks since 2.8", async () => {
    expect((await create(5, "vnc", "novnc")).status).toBe(404);
    const reply = await create(6, "vnc", "novnc");
    expect([reply.status, reply.message]).toEqual([400, "Unavailable console type novnc."]);
    expect((await create(7, "mks", "webmks")).message).toMatch(/^Invalid input for/);
    expect((await create(8, "mks", "webmks")).message).toBe("Unavailable console type webmks.");
  });

  test("are 409 without a host, or while the server is migrating or being deleted", async () => {
    expect((await create(6, "vnc", "novnc", world.server(null))).status).toBe(409);
    const moving = world.server("devstack1", { taskState: "migrating" });
    expect((await create(6, "vnc", "novnc", moving)).message).toBe(
      `Cannot 'get_vnc_console' instance ${moving.uuid} while it is in task_state migrating`,
    );
  });

  test("a console token is never found", async () => {
    const reply = await world.ask({ url: "/compute/v2.1/os-console-auth-tokens/abc", version: 31 });
    expect([reply.status, reply.message]).toEqual([404, "Token not found"]);
  });
});

test("a guest's saved password is returned and cleared", async () => {
  const url = `/compute/v2.1/servers/${instance.uuid}/os-server-password`;
  expect((await world.ask({ url })).json()).toEqual({ password: "abcdef" });
  expect((await world.ask({ method: "DELETE", url })).status).toBe(204);
  expect((await world.ask({ url })).json()).toEqual({ password: "" });
  expect(world.store.instances.get(instance.uuid)?.systemMetadata).toEqual({});
  expect((await world.ask({ url, token: await world.token("demo") })).status).toBe(404);
});
