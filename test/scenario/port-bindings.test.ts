import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ServerPort } from "../../src/control-plane/network/server-ports.js";
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
    await start(host);
  }
});
afterEach(() => cloud.close());

async function start(host: string, process = `agent-${host}`): Promise<void> {
  const agent = await cloud.agent(host, { process });
  faults.set(host, agent.faults);
  runtimes.set(host, agent.runtime);
}

/** Requests a server, by default on `devstack1` with one new port. */
async function create(server: Record<string, unknown> = {}): Promise<string> {
  const defaults = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "auto", host: "devstack1" };
  const reply = await cloud.compute("POST", "/servers", { server: { ...defaults, ...server } });
  return (reply.json as { server: { id: string } }).server.id;
}

async function active(id: string, host: string): Promise<void> {
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE" && server["OS-EXT-SRV-ATTR:host"] === host);
}

async function activeServer(server: Record<string, unknown> = {}): Promise<string> {
  const id = await create(server);
  await active(id, "devstack1");
  return id;
}

const act = (id: string, body: unknown) => cloud.compute("POST", `/servers/${id}/action`, body);
const liveMigrate = (id: string) => act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });

function portOf(id: string): ServerPort {
  const [port, second] = cloud.ports.ofServer(id);
  return port && second === undefined ? port : expect.fail(`server ${id} has not one port`);
}

/** Returns host, status and plugged state of each binding of the server's port. */
function bindingsOf(id: string): readonly string[] {
  return portOf(id).bindings.map(
    ({ host, status, isPlugged }) => `${host} ${status} ${isPlugged ? "plugged" : "unplugged"}`,
  );
}

/** Creates a port as a user does; returns its id. */
async function userPort(): Promise<string> {
  const { networks } = (await cloud.request("GET", "/network/v2.0/networks?name=shared")).json;
  const [network] = networks as { id: string }[];
  const port = { network_id: network?.id, name: "given" };
  const created = (await cloud.request("POST", "/network/v2.0/ports", { port })).json;
  return (created.port as { id: string }).id;
}

function fail(host: string, point: string): void {
  faults.get(host)?.set({ point, action: { kind: "fail" }, times: null });
}

describe("the port of a server", () => {
  test("is bound to the host that builds the server, and goes with it", async () => {
    const id = await activeServer();
    expect(bindingsOf(id)).toEqual(["devstack1 ACTIVE plugged"]);
    expect(portOf(id)).toMatchObject({ deviceOwner: "compute:nova", vifType: "ovs", madeForServer: true });
    const port = portOf(id).id;
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (server) => server === null);
    expect(cloud.ports.get(port)).toBeUndefined();
  });

  test("remains if a user created it, with its address, and can be used again", async () => {
    const port = await userPort();
    const before = cloud.ports.get(port);
    const id = await activeServer({ networks: [{ port, tag: "nic" }] });
    expect(portOf(id)).toMatchObject({ id: port, host: "devstack1", status: "ACTIVE", tag: "nic", name: "given" });
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (server) => server === null);
    expect(cloud.ports.get(port)).toEqual(before);
    const next = await activeServer({ networks: [{ port }] });
    expect(portOf(next)).toMatchObject({ id: port, macAddress: before?.macAddress, fixedIps: before?.fixedIps });
  });

  test("follows a cold migration, and its revert or confirmation", async () => {
    const id = await activeServer();
    for (const end of ["revertResize", "confirmResize"]) {
      await act(id, { migrate: null });
      await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
      expect(bindingsOf(id)).toEqual(["devstack2 ACTIVE plugged"]);
      await act(id, { [end]: null });
      await active(id, end === "revertResize" ? "devstack1" : "devstack2");
      expect(bindingsOf(id)).toEqual([`${end === "revertResize" ? "devstack1" : "devstack2"} ACTIVE plugged`]);
    }
  });

  test("has an inactive binding on the destination while a live migration runs, then only that one", async () => {
    const id = await activeServer();
    const slow = { kind: "slow", milliseconds: 20_000 } as const;
    faults.get("devstack1")?.set({ point: "driver.liveMigration", action: slow, times: 1 });
    await liveMigrate(id);
    await cloud.world.advance(10_000);
    expect(bindingsOf(id)).toEqual(["devstack1 ACTIVE plugged", "devstack2 INACTIVE plugged"]);
    expect(portOf(id)).toMatchObject({ host: "devstack1", status: "ACTIVE" });
    await active(id, "devstack2");
    expect(bindingsOf(id)).toEqual(["devstack2 ACTIVE plugged"]);
  });

  test("has only the source's binding after a failed live migration", async () => {
    const id = await activeServer();
    fail("devstack1", "driver.liveMigration");
    await liveMigrate(id);
    await cloud.serverIs(id, (server) => server?.status === "ERROR");
    await cloud.world.advance(5_000);
    expect(bindingsOf(id)).toEqual(["devstack1 ACTIVE plugged"]);
  });

  test("is bound to the destination after an evacuation, also when the source is back", async () => {
    const id = await activeServer();
    runtimes.get("devstack1")?.kill();
    const service = await cloud.serviceId("devstack1");
    await cloud.compute("PUT", `/os-services/${service}`, { forced_down: true });
    await act(id, { evacuate: { host: "devstack2" } });
    await active(id, "devstack2");
    expect(bindingsOf(id)).toEqual(["devstack2 ACTIVE plugged"]);
    await start("devstack1", "agent-devstack1-again");
    await cloud.world.advance(60_000);
    await cloud.compute("PUT", `/os-services/${service}`, { forced_down: false });
    await cloud.world.advance(60_000);
    expect(bindingsOf(id)).toEqual(["devstack2 ACTIVE plugged"]);
  });

  test("keeps address and server without a host while the server is shelved", async () => {
    const id = await activeServer();
    const { id: port, fixedIps } = portOf(id);
    await act(id, { shelve: null });
    await cloud.serverIs(id, (server) => server?.status === "SHELVED_OFFLOADED");
    expect(portOf(id)).toMatchObject({
      id: port,
      fixedIps,
      host: null,
      bindings: [],
      vifType: "unbound",
      status: "DOWN",
    });
    await act(id, { unshelve: { host: "devstack2" } });
    await active(id, "devstack2");
    expect(portOf(id)).toMatchObject({ id: port, fixedIps });
    expect(bindingsOf(id)).toEqual(["devstack2 ACTIVE plugged"]);
  });
});

describe("a build whose ports fail", () => {
  test("is tried on another host if the binding failed, where its port is bound", async () => {
    // The scheduler prefers the host without servers.
    await activeServer({ host: "devstack1" });
    fail("devstack2", "network.bind");
    const id = await create({ host: undefined });
    await active(id, "devstack1");
    expect(bindingsOf(id)).toEqual(["devstack1 ACTIVE plugged"]);
    const { instanceActions } = (await cloud.compute("GET", `/servers/${id}/os-instance-actions`)).json;
    const [{ request_id }] = instanceActions as [{ request_id: string }];
    const details = (await cloud.compute("GET", `/servers/${id}/os-instance-actions/${request_id}`)).json;
    const events = (details.instanceAction as { events: { event: string; host: string }[] }).events;
    const hosts = events.filter(({ event }) => event.includes("do_build_and_run")).map(({ host }) => host);
    expect(hosts.toSorted()).toEqual(["devstack1", "devstack2"]);
  });

  test("ends on the first host if no port can be allocated, and leaves a user's port free", async () => {
    const port = await userPort();
    fail("devstack1", "network.allocate");
    fail("devstack2", "network.allocate");
    const id = await create({ networks: [{ port }], host: undefined });
    await cloud.world.advance(20_000);
    expect(await cloud.server(id)).toMatchObject({
      status: "ERROR",
      "OS-EXT-SRV-ATTR:host": null,
      fault: { message: `Build of instance ${id} aborted: Failed to allocate the network(s), not rescheduling.` },
    });
    expect(cloud.ports.get(port)).toMatchObject({ deviceId: "", host: null, vifType: "unbound" });
  });

  test("ends without a host if the requested address is not of the network", async () => {
    const { networkId } = portOf(await activeServer());
    const id = await create({ networks: [{ uuid: networkId, fixed_ip: "192.0.2.1" }] });
    await cloud.world.advance(5_000);
    expect(await cloud.server(id)).toMatchObject({
      status: "ERROR",
      "OS-EXT-SRV-ATTR:host": null,
      fault: { message: expect.stringMatching(`^Build of instance ${id} aborted: .*192.0.2.1`) },
    });
    expect(cloud.ports.ofServer(id)).toEqual([]);
  });
});
