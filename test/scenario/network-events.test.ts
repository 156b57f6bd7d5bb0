import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FaultSet } from "../../src/faults/fault-set.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;
const faults = new Map<string, FaultSet>();
const runtimes = new Map<string, VirtualRuntime>();

beforeEach(async () => {
  // Nova's agents attach no networks.
  cloud = await VirtualCloud.open({ nova: undefined });
  for (const host of ["devstack1", "devstack2"]) {
    const agent = await cloud.agent(host);
    faults.set(host, agent.faults);
    runtimes.set(host, agent.runtime);
  }
});
afterEach(() => cloud.close());

async function create(server: Record<string, unknown> = {}): Promise<string> {
  const defaults = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "auto", host: "devstack1" };
  const reply = await cloud.compute("POST", "/servers", { server: { ...defaults, ...server } });
  return (reply.json as { server: { id: string } }).server.id;
}

async function active(id: string, host: string): Promise<void> {
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE" && server["OS-EXT-SRV-ATTR:host"] === host);
}

/** Returns host and status of the server's port. */
async function portOf(id: string): Promise<readonly unknown[]> {
  const { ports } = (await cloud.request("GET", `/network/v2.0/ports?device_id=${id}`)).json;
  const [port] = ports as Record<string, unknown>[];
  return port ? [port["binding:host_id"], port.status] : [];
}

/** Returns the ports of all servers. */
async function serverPorts(): Promise<unknown> {
  return (await cloud.request("GET", "/network/v2.0/ports?device_owner=compute:nova")).json.ports;
}

/** Suppresses all notifications to the network service from this host. */
function silence(host: string): void {
  faults.get(host)?.set({ point: "network.plug", action: { kind: "fail" }, times: null });
}

const act = (id: string, body: unknown) => cloud.compute("POST", `/servers/${id}/action`, body);

describe("8.6 network-vif-plugged", () => {
  test("a build waits for it; its port is active with the server, and gone with it", async () => {
    const id = await create();
    await active(id, "devstack1");
    expect(await portOf(id)).toEqual(["devstack1", "ACTIVE"]);
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (server) => server === null);
    expect(await serverPorts()).toEqual([]);
  });

  test("a cold move binds and connects the port on the destination, a revert on the source", async () => {
    const id = await create();
    await active(id, "devstack1");
    await act(id, { migrate: null });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    expect(await portOf(id)).toEqual(["devstack2", "ACTIVE"]);
    await act(id, { revertResize: null });
    await active(id, "devstack1");
    expect(await portOf(id)).toEqual(["devstack1", "ACTIVE"]);
  });

  test("a live migration has the port connected on both hosts until it ends", async () => {
    const id = await create();
    await active(id, "devstack1");
    await act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await active(id, "devstack2");
    expect(await portOf(id)).toEqual(["devstack2", "ACTIVE"]);
  });

  test("a live migration that came to nothing disconnects it from the destination, and is waited for again", async () => {
    const id = await create();
    await active(id, "devstack1");
    faults.get("devstack1")?.set({ point: "driver.liveMigration", action: { kind: "fail" }, times: 1 });
    await act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await cloud.serverIs(id, (server) => server?.status === "ERROR");
    await cloud.world.advance(5_000);
    expect(await portOf(id)).toEqual(["devstack1", "ACTIVE"]);
    expect(cloud.ports.ofServer(id).map(({ pluggedOn }) => pluggedOn)).toEqual([["devstack1"]]);
    await act(id, { "os-resetState": { state: "active" } });
    await act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await active(id, "devstack2");
    expect(await portOf(id)).toEqual(["devstack2", "ACTIVE"]);
  });

  test("an evacuation has it connected on the destination before the server is there", async () => {
    const id = await create();
    await active(id, "devstack1");
    runtimes.get("devstack1")?.kill();
    await cloud.compute("PUT", `/os-services/${await cloud.serviceId("devstack1")}`, { forced_down: true });
    await act(id, { evacuate: { host: "devstack2" } });
    await active(id, "devstack2");
    expect(await portOf(id)).toEqual(["devstack2", "ACTIVE"]);
  });

  test("shelved, the port is bound nowhere; unshelved, where the server is", async () => {
    const id = await create();
    await active(id, "devstack1");
    await act(id, { shelve: null });
    await cloud.serverIs(id, (server) => server?.status === "SHELVED_OFFLOADED");
    expect(await portOf(id)).toEqual(["", "DOWN"]);
    await act(id, { unshelve: null });
    await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
    const host = (await cloud.server(id))?.["OS-EXT-SRV-ATTR:host"];
    expect(await portOf(id)).toEqual([host, "ACTIVE"]);
  });

  test("a port that is attached later becomes active", async () => {
    const id = await create({ networks: "none" });
    await active(id, "devstack1");
    await cloud.compute("POST", `/servers/${id}/os-interface`, {});
    await cloud.world.advance(2_000);
    expect(await portOf(id)).toEqual(["devstack1", "ACTIVE"]);
  });
});

describe("an event that is lost", () => {
  test("the build fails after vif_plugging_timeout, and is not tried elsewhere", async () => {
    silence("devstack1");
    silence("devstack2");
    const id = await create();
    await cloud.world.advance(290_000);
    expect(await cloud.server(id)).toMatchObject({ status: "BUILD", "OS-EXT-STS:task_state": "spawning" });
    await cloud.world.advance(20_000);
    expect(await cloud.server(id)).toMatchObject({
      status: "ERROR",
      "OS-EXT-SRV-ATTR:host": null,
      fault: { message: `Build of instance ${id} aborted: Failed to allocate the network(s), not rescheduling.` },
    });
    expect(await serverPorts()).toEqual([]);
  });

  test("an operator can send it", async () => {
    silence("devstack1");
    const id = await create();
    await cloud.world.advance(10_000);
    const [port] = cloud.ports.ofServer(id);
    const event = { server_uuid: id, name: "network-vif-plugged", tag: port?.id };
    const reply = await cloud.compute("POST", "/os-server-external-events", { events: [event] });
    expect(reply.json).toEqual({ events: [{ ...event, code: 200, status: "completed" }] });
    await active(id, "devstack1");
  });

  test("a live migration is rolled back", async () => {
    const id = await create();
    await active(id, "devstack1");
    silence("devstack2");
    await act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await cloud.world.advance(330_000);
    expect(await cloud.server(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": "devstack1" });
    expect(await portOf(id)).toEqual(["devstack1", "ACTIVE"]);
    const { migrations } = (await cloud.compute("GET", "/os-migrations")).json;
    expect(migrations).toMatchObject([{ status: "failed" }]);
  });
});
