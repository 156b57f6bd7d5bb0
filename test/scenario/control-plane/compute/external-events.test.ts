import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

describe("external events", () => {
  const post = (events: readonly object[]) =>
    world.ask({ method: "POST", url: "/compute/v2.1/os-server-external-events", version: 76, body: { events } });
  const GONE = "99999999-9999-4999-8999-999999999999";

  test("a power-update is validated as by Nova, recorded as start or stop, and sent to the server's host", async () => {
    const instance = world.server("devstack1");
    const unplaced = world.server(null);
    const update = (uuid: string, tag?: string) => ({ server_uuid: uuid, name: "power-update", tag });
    const events = [
      update(instance.uuid, "POWER_OFF"),
      update(GONE, "POWER_OFF"),
      update(unplaced.uuid, "POWER_ON"),
      update(instance.uuid),
      update(instance.uuid, "BLINK"),
    ];
    const reply = await post(events);
    expect(reply.status).toBe(207);
    expect(reply.json("events")).toMatchObject([200, 404, 422, 400, 200].map((code) => ({ code })));
    expect(world.casts).toEqual([
      {
        host: "devstack1",
        method: "external_instance_event",
        params: {
          instanceUuid: instance.uuid,
          events: [{ name: "power-update", tag: "POWER_OFF", status: "completed" }],
        },
      },
    ]);
    expect(world.store.actions.list(instance.uuid)).toMatchObject([
      { action: "stop", requestId: reply.headers["x-compute-request-id"], userId: expect.any(String) },
    ]);
    expect(world.stateOf(instance), "the host sets the task state").toEqual(["active", null]);
  });

  test("a request whose events are all accepted is 200, and POWER_ON is recorded as start", async () => {
    const instance = world.server("devstack1", { vmState: "stopped" });
    const reply = await post([{ server_uuid: instance.uuid, name: "power-update", tag: "POWER_ON" }]);
    expect(reply.status).toBe(200);
    expect(world.store.actions.list(instance.uuid)).toMatchObject([{ action: "start" }]);
  });
});
