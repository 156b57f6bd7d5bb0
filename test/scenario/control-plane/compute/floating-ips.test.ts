import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { NETWORK_ID } from "../../../fixtures/test-network.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";
import {
  attachPorts,
  createExternalNetwork,
  createNetwork,
  requestRecord,
} from "../../../unit/control-plane/compute/network-records.js";

type User = "admin" | "demo";

let world: ApiWorld;
let external: string;
/** A network with a router to the external one. */
let routed: string;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  routed = await createNetwork(world, { name: "routed" }, { cidrs: ["192.168.1.0/24", "fd00:1::/64"] });
  ({ networkId: external } = await createExternalNetwork(world, routed));
});

async function ask(method: string, path: string, body?: unknown, version = 35, as: User = "admin"): Promise<Reply> {
  return world.ask({ method, url: `/compute/v2.1${path}`, body, version, token: await world.token(as) });
}

/** Allocates a floating IP; returns its id and address. */
async function allocate(as: User = "admin") {
  const reply = await ask("POST", "/os-floating-ips", { pool: "public" }, 35, as);
  expect(reply.status).toBe(200);
  return reply.json("floating_ip") as { readonly id: string; readonly ip: string };
}

/** Creates a server with ports of networks. */
function serverOn(...networks: readonly string[]): Instance {
  const server = world.server("devstack1");
  attachPorts(world, server, networks);
  return server;
}

/** Returns the address of the server's first port on the routed network. */
function fixedAddressOf({ uuid }: Instance): string | undefined {
  const port = world.network.ports.ofServer(uuid).find(({ networkId }) => networkId === routed);
  return port?.fixedIps.find(({ version }) => version === 4)?.address;
}

const add = (server: Instance, body: object): Promise<Reply> => world.act(server, { addFloatingIp: body }, 43);

function remove(server: Instance, address: string): Promise<Reply> {
  return world.act(server, { removeFloatingIp: { address } }, 43);
}

async function resultOf(pending: Promise<Reply>): Promise<string> {
  const reply = await pending;
  return reply.status >= 400 ? `${reply.status} ${reply.message}` : String(reply.status);
}

describe("os-floating-ips", () => {
  test("allocates from a pool by name or id, or from the default pool, and releases", async () => {
    for (const body of [{ pool: "public" }, { pool: external }, undefined]) {
      const reply = await ask("POST", "/os-floating-ips", body);
      expect(reply.json("floating_ip")).toEqual({
        id: expect.any(String),
        ip: expect.stringMatching(/^172\.24\.4\./),
        pool: "public",
        fixed_ip: null,
        instance_id: null,
      });
    }
    const list = (await ask("GET", "/os-floating-ips")).json("floating_ips") as { id: string }[];
    expect(list).toHaveLength(3);
    for (const one of list) {
      expect((await ask("GET", `/os-floating-ips/${one.id}`)).json("floating_ip")).toEqual(one);
      expect((await ask("DELETE", `/os-floating-ips/${one.id}`)).status).toBe(202);
    }
    expect((await ask("GET", "/os-floating-ips")).json("floating_ips")).toEqual([]);
  });

  test("lists those of the caller's project only, and hides those of others", async () => {
    const [own, foreign] = [await allocate("demo"), await allocate()];
    const list = (await ask("GET", "/os-floating-ips", undefined, 35, "demo")).json("floating_ips");
    expect(list).toMatchObject([{ id: own.id }]);
    expect((await ask("GET", "/os-floating-ips")).json("floating_ips")).toMatchObject([{ id: foreign.id }]);
    for (const method of ["GET", "DELETE"]) {
      expect(await resultOf(ask(method, `/os-floating-ips/${foreign.id}`, undefined, 35, "demo"))).toBe(
        `404 Floating IP not found for ID ${foreign.id}`,
      );
    }
  });

  test("reports an unknown pool, the quota and a pool without addresses", async () => {
    expect(await resultOf(ask("POST", "/os-floating-ips", { pool: "none" }))).toBe("404 Floating IP pool not found.");
    const small = { name: "small", "router:external": true };
    await createNetwork(world, small, { cidrs: ["203.0.113.0/30"] });
    expect(await resultOf(ask("POST", "/os-floating-ips", { pool: "small" }))).toBe("200");
    expect(await resultOf(ask("POST", "/os-floating-ips", { pool: "small" }))).toBe(
      "404 No more floating IPs in pool small.",
    );
    await requestRecord(world, "PUT", `/quotas/${world.projectId("admin")}`, { quota: { floatingip: 1 } });
    expect(await resultOf(ask("POST", "/os-floating-ips", { pool: "public" }))).toBe(
      "403 IP allocation over quota in pool public.",
    );
    expect(await resultOf(ask("POST", "/os-floating-ips"))).toBe("403 IP allocation over quota.");
  });

  test("os-floating-ip-pools are the names of the external networks", async () => {
    await createNetwork(world, { name: "second", "router:external": true }, { cidrs: ["203.0.113.0/24"] });
    const pools = (await ask("GET", "/os-floating-ip-pools", undefined, 35, "demo")).json("floating_ip_pools");
    expect(pools).toEqual([{ name: "public" }, { name: "second" }]);
    expect((await ask("GET", "/os-floating-ip-pools", undefined, 36)).status).toBe(404);
  });
});

describe("addFloatingIp", () => {
  test("uses the server's first IPv4 address, which then shows the floating IP", async () => {
    const [server, { id, ip }] = [serverOn(routed), await allocate()];
    expect((await add(server, { address: ip })).status).toBe(202);
    const fixed = fixedAddressOf(server);
    expect((await ask("GET", `/os-floating-ips/${id}`)).json("floating_ip")).toMatchObject({
      fixed_ip: fixed,
      instance_id: server.uuid,
    });
    const view = (await ask("GET", `/servers/${server.uuid}`)).json("server", "addresses", "routed");
    expect(view).toMatchObject([
      { addr: fixed, version: 4, "OS-EXT-IPS:type": "fixed" },
      { version: 6, "OS-EXT-IPS:type": "fixed" },
      { addr: ip, version: 4, "OS-EXT-IPS:type": "floating" },
    ]);
    expect((await ask("GET", `/servers/${server.uuid}/ips/routed`)).json("routed")).toContainEqual({
      version: 4,
      addr: ip,
    });
  });

  test("uses a named address, and takes a floating IP from another server", async () => {
    const [one, other] = [serverOn(NETWORK_ID, routed), serverOn(routed)];
    const { ip, id } = await allocate();
    const fixed_address = fixedAddressOf(one);
    expect((await add(one, { address: ip, fixed_address })).status).toBe(202);
    expect((await ask("GET", `/os-floating-ips/${id}`)).json("floating_ip")).toMatchObject({
      fixed_ip: fixed_address,
      instance_id: one.uuid,
    });
    expect((await add(other, { address: ip })).status).toBe(202);
    expect((await ask("GET", `/os-floating-ips/${id}`)).json("floating_ip", "instance_id")).toBe(other.uuid);
  });

  test("notifies the agent of the server's host", async () => {
    const [server, { ip }] = [serverOn(routed), await allocate()];
    await add(server, { address: ip });
    expect(world.store.messages.pending("devstack1")).toMatchObject([{ method: "external_instance_event" }]);
  });

  test("rejects what cannot be associated, in Nova's words", async () => {
    const [server, { ip }] = [serverOn(routed), await allocate()];
    const bare = world.server("devstack1");
    expect(await resultOf(add(bare, { address: ip }))).toBe("400 Instance network is not ready yet");
    expect(await resultOf(add(server, { address: ip, fixed_address: "10.0.0.99" }))).toBe(
      "400 Specified fixed address not assigned to instance",
    );
    expect(await resultOf(add(server, { address: "172.24.4.250" }))).toBe("404 floating IP not found");
    const unrouted = serverOn(NETWORK_ID);
    const reply = await add(unrouted, { address: ip });
    expect([reply.status, reply.message]).toEqual([
      400,
      expect.stringMatching(
        `^Unable to associate floating IP ${ip} to fixed IP 10.0.0.2 for instance ${unrouted.uuid}. Error: External network`,
      ),
    ]);
    await add(server, { address: ip });
    const second = await allocate();
    expect((await add(server, { address: second.ip })).status).toBe(400);
  });

  test("needs an IPv4 address", async () => {
    const six = await createNetwork(world, {}, { cidrs: ["fd00:2::/64"] });
    const [server, { ip }] = [serverOn(six), await allocate()];
    expect(await resultOf(add(server, { address: ip }))).toBe(
      `400 Unable to associate floating IP ${ip} to any fixed IPs for instance ${server.uuid}. Instance has no fixed IPv4 addresses to associate.`,
    );
  });

  test.each([{}, { address: "x" }, { address: "172.24.4.3", fixed_address: "x" }])("rejects %j", async (body) => {
    expect((await add(serverOn(routed), body)).status).toBe(400);
  });

  test("ends with 2.43", async () => {
    const server = serverOn(routed);
    expect((await world.act(server, { addFloatingIp: { address: "172.24.4.3" } }, 44)).status).toBe(404);
    expect((await world.act(server, { removeFloatingIp: { address: "172.24.4.3" } }, 44)).status).toBe(404);
  });
});

describe("removeFloatingIp", () => {
  test("leaves the floating IP to the project without an address", async () => {
    const [server, { ip, id }] = [serverOn(routed), await allocate()];
    await add(server, { address: ip });
    expect((await remove(server, ip)).status).toBe(202);
    expect((await ask("GET", `/os-floating-ips/${id}`)).json("floating_ip")).toMatchObject({
      fixed_ip: null,
      instance_id: null,
    });
    expect(await resultOf(remove(server, ip))).toBe(
      `409 Floating IP ${ip} is not associated with instance ${server.uuid}.`,
    );
  });

  test("rejects an unknown floating IP and that of another server", async () => {
    const [one, other, { ip }] = [serverOn(routed), serverOn(routed), await allocate()];
    await add(one, { address: ip });
    expect(await resultOf(remove(other, ip))).toBe(
      `409 Floating IP ${ip} is not associated with instance ${other.uuid}.`,
    );
    expect(await resultOf(remove(one, "172.24.4.250"))).toBe("404 Floating IP not found for address 172.24.4.250.");
    expect((await ask("DELETE", `/os-floating-ips/${CIRROS}`)).status).toBe(404);
  });
});

test("a deleted server leaves its floating IP to the project", async () => {
  const [server, { ip, id }] = [serverOn(routed), await allocate()];
  await add(server, { address: ip });
  world.store.instances.destroy(server.uuid);
  expect((await ask("GET", `/os-floating-ips/${id}`)).json("floating_ip")).toMatchObject({
    fixed_ip: null,
    instance_id: null,
  });
});
