import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "./api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

const create = (server: Record<string, unknown> = {}, version = 37) =>
  world.ask({
    method: "POST",
    url: "/compute/v2.1/servers",
    version,
    body: { server: { name: "vm1", flavorRef: "1", imageRef: CIRROS, networks: "none", ...server } },
  });

describe("create", () => {
  test("6.1 row 1: what is acknowledged is stored", async () => {
    const reply = await create();
    expect(reply.status).toBe(202);
    const uuid = String(reply.json("server", "id"));
    expect(reply.headers.location).toBe(`http://127.0.0.1:8774/compute/v2.1/servers/${uuid}`);
    expect(world.store.requests.buildRequest(uuid)?.instance.displayName).toBe("vm1");
    expect(world.store.requests.spec(uuid)?.flavor.flavorid).toBe("1");
    expect(world.store.mappings.instance(uuid)).toEqual({ cell: null, queuedForDelete: false });
    expect(world.store.tasks.pending().map(({ task }) => task)).toEqual([
      { kind: "build_instances", instanceUuid: uuid, requestId: reply.headers["x-compute-request-id"] },
    ]);
    expect(world.wakes).toBe(1);
    const shown = await world.ask({ url: `/compute/v2.1/servers/${uuid}`, version: 37 });
    expect(shown.json("server", "status")).toBe("BUILD");
  });
});
