import { beforeEach, describe, expect, test } from "vitest";
import { NETWORK_ID as NETWORK } from "../../../fixtures/test-network.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";
import { attachPorts, createPort, requestRecord } from "../../../unit/control-plane/compute/network-records.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

function ask(method: string, path: string, body?: unknown): Promise<Reply> {
  return world.ask({ method, url: `/compute/v2.1${path}`, body, version: 42 });
}

function create(server: Record<string, unknown>): Promise<Reply> {
  return ask("POST", "/servers", { server: { name: "vm1", flavorRef: "1", imageRef: CIRROS, ...server } });
}

/** Creates a server with one port on a host, and returns its uuid. */
function networkedServer(): string {
  const instance = world.server("devstack1");
  attachPorts(world, instance);
  return instance.uuid;
}

const userPort = (): Promise<string> => createPort(world);

describe("the port quota", () => {
  const LIMIT_REACHED = "Maximum number of ports exceeded";

  async function setQuota(port: number): Promise<void> {
    await requestRecord(world, "PUT", `/quotas/${world.projectId("admin")}`, { quota: { port } });
  }

  async function portUsage(): Promise<unknown> {
    const url = `/network/v2.0/quotas/${world.projectId("admin")}/details`;
    return (await world.ask({ method: "GET", url })).json("quota", "port");
  }

  async function rejection(reply: Promise<Reply>): Promise<unknown> {
    expect((await reply).status).toBe(403);
    return (await reply).json("forbidden", "message");
  }

  test("counts a user's port and a server's port once each", async () => {
    await setQuota(3);
    await userPort();
    networkedServer();
    expect(await portUsage()).toEqual({ limit: 3, used: 2, reserved: 0 });
    expect((await create({ networks: "auto" })).status).toBe(202);
    expect(await portUsage()).toEqual({ limit: 3, used: 2, reserved: 0 });
    expect(await rejection(create({ networks: "auto" }))).toBe(LIMIT_REACHED);
  });

  test("accepts a user's port while requested servers need the rest, since they have no ports yet", async () => {
    await setQuota(1);
    await create({ networks: "auto" });
    await userPort();
    expect(await portUsage()).toEqual({ limit: 1, used: 1, reserved: 0 });
    expect(await rejection(create({ networks: "auto" }))).toBe(LIMIT_REACHED);
  });

  test("lowers the number of servers to those with enough ports, and rejects fewer than min_count", async () => {
    await setQuota(5);
    const networks = [{ uuid: NETWORK }, { uuid: NETWORK }];
    expect(await rejection(create({ networks, min_count: 3, max_count: 4 }))).toBe(LIMIT_REACHED);
    expect((await create({ networks, min_count: 1, max_count: 4 })).status).toBe(202);
    expect(world.tasks()).toHaveLength(2);
    expect(world.tasks()).toMatchObject([1, 2].map(() => ({ ports: [{ network: NETWORK }, { network: NETWORK }] })));
  });

  test("does not limit servers without a new port", async () => {
    const port = await userPort();
    await setQuota(1);
    expect((await create({ networks: "none" })).status).toBe(202);
    expect((await create({ networks: [{ port }] })).status).toBe(202);
    expect(await portUsage()).toMatchObject({ used: 1, reserved: 0 });
  });

  test("is in the message if the project has more ports than it allows", async () => {
    await userPort();
    await userPort();
    await setQuota(1);
    const text = "The number of defined ports: 2 is over the limit: 1";
    expect(await rejection(create({ networks: "auto" }))).toBe(text);
  });

  test("releases the reservation when a user deletes a server that is not placed", async () => {
    await setQuota(1);
    const { id } = (await create({ networks: "auto" })).json("server") as { id: string };
    expect((await ask("DELETE", `/servers/${id}`)).status).toBe(204);
    expect((await create({ networks: "auto" })).status).toBe(202);
  });

  test("limits interfaces that create a port, and not existing ports", async () => {
    const uuid = networkedServer();
    const port = await userPort();
    await setQuota(2);
    const attach = (body: object) => ask("POST", `/servers/${uuid}/os-interface`, { interfaceAttachment: body });
    expect(await rejection(attach({ net_id: NETWORK }))).toBe(LIMIT_REACHED);
    expect((await attach({ port_id: port })).status).toBe(200);
  });
});
