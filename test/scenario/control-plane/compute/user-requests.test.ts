import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

const SERVERS = "/compute/v2.1/servers";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

async function create(attributes: Record<string, unknown>, imageRef = CIRROS) {
  const server = { name: "vm", flavorRef: "1", imageRef, ...attributes };
  return await world.ask({ method: "POST", url: SERVERS, body: { server } });
}

async function getServerAttributes(uuid: unknown) {
  const server = (await world.ask({ url: `${SERVERS}/${uuid}` })).json("server") as Record<string, unknown>;
  return [server.accessIPv4, server.accessIPv6, server["OS-DCF:diskConfig"]];
}

const MOTD = { path: "/etc/motd", contents: Buffer.from("hello").toString("base64") };

describe("injected files", () => {
  const files = (uuid: unknown) =>
    (world.store.requests.buildRequest(String(uuid))?.instance ?? world.store.instances.get(String(uuid)))
      ?.injectedFiles;

  test("are saved with the request, and replaced by a rebuild", async () => {
    const made = await create({ personality: [MOTD, { ...MOTD, path: "/etc/issue" }] });
    expect(files(made.json("server", "id"))).toEqual([MOTD, { ...MOTD, path: "/etc/issue" }]);
    const { uuid } = world.server("devstack1");
    const rebuild = (body: object, version: number) =>
      world.ask({
        method: "POST",
        url: `${SERVERS}/${uuid}/action`,
        version,
        body: { rebuild: { imageRef: CIRROS, ...body } },
      });
    expect((await rebuild({ personality: [MOTD] }, 56)).status).toBe(202);
    expect(files(uuid)).toEqual([MOTD]);
    world.store.instances.save(uuid, { taskState: null, vmState: "active" });
    expect((await rebuild({}, 57)).status).toBe(202);
    expect(files(uuid)).toEqual([]);
  });

  test.each([
    [{ path: "/etc/motd" }, 1],
    [{ contents: MOTD.contents }, 1],
    [{ ...MOTD, contents: "not base64!" }, 1],
    [{ ...MOTD, path: "x".repeat(256) }, 1],
    [MOTD, 57],
  ])("%j at 2.%i is rejected", async (file, version) => {
    const server = { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none", personality: [file] };
    const { networks: _none, ...old } = server;
    const body = { server: version < 37 ? old : server };
    expect((await world.ask({ method: "POST", url: SERVERS, body, version })).status).toBe(400);
  });
});

describe("access addresses and disk configuration", () => {
  test("are saved with the request and returned", async () => {
    const attributes = { accessIPv4: "192.0.2.1", accessIPv6: "2001:DB8:0::7", "OS-DCF:diskConfig": "AUTO" };
    const made = await create(attributes);
    expect(made.json("server", "OS-DCF:diskConfig")).toBe("AUTO");
    expect(await getServerAttributes(made.json("server", "id"))).toEqual(["192.0.2.1", "2001:db8::7", "AUTO"]);
    expect(await getServerAttributes((await create({})).json("server", "id"))).toEqual(["", "", "MANUAL"]);
  });

  test("are changed by an update, a rebuild and a resize independently", async () => {
    const { uuid } = world.server("devstack1");
    await world.ask({
      method: "PUT",
      url: `${SERVERS}/${uuid}`,
      body: { server: { accessIPv6: "::babe:220.12.22.2" } },
    });
    expect(await getServerAttributes(uuid)).toEqual(["", "::babe:dc0c:1602", "MANUAL"]);
    await world.ask({ method: "PUT", url: `${SERVERS}/${uuid}`, body: { server: { "OS-DCF:diskConfig": "AUTO" } } });
    expect(await getServerAttributes(uuid)).toEqual(["", "::babe:dc0c:1602", "AUTO"]);
    const act = (body: unknown) => world.ask({ method: "POST", url: `${SERVERS}/${uuid}/action`, body });
    await act({ rebuild: { imageRef: CIRROS, accessIPv4: "192.0.2.9" } });
    expect(await getServerAttributes(uuid), "a rebuild uses the new image's property").toEqual([
      "192.0.2.9",
      "::babe:dc0c:1602",
      "MANUAL",
    ]);
    world.store.instances.save(uuid, { taskState: null, vmState: "active" });
    const larger = world.flavor({ id: 7, flavorid: "7", name: "larger" });
    const resized = await act({ resize: { flavorRef: larger.flavorid, "OS-DCF:diskConfig": "AUTO" } });
    expect(resized.status, resized.body).toBe(202);
    expect((await getServerAttributes(uuid)).at(-1)).toBe("AUTO");
  });

  test("changes of a build request apply to the server", async () => {
    const uuid = String((await create({ accessIPv4: "192.0.2.1" })).json("server", "id"));
    const body = { server: { name: "renamed", accessIPv4: "192.0.2.2" } };
    const reply = await world.ask({ method: "PUT", url: `${SERVERS}/${uuid}`, body });
    expect([reply.status, reply.json("server", "name")]).toEqual([200, "renamed"]);
    expect(await getServerAttributes(uuid)).toEqual(["192.0.2.2", "", "MANUAL"]);
    const requestedInstance = world.store.requests.buildRequest(uuid)?.instance;
    expect(requestedInstance).toMatchObject({ displayName: "renamed", accessIpV4: "192.0.2.2", vmState: "building" });
  });

  test.each([
    ["::ffff:1.2.3.4", "::ffff:1.2.3.4"],
    ["::1.2.3.4", "::1.2.3.4"],
    ["::1", "::1"],
    ["2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"],
  ])("address %s is returned as %s", async (accessIPv6, expected) => {
    expect((await getServerAttributes((await create({ accessIPv6 })).json("server", "id")))[1]).toBe(expected);
  });

  test("an image sets the disk configuration and can forbid AUTO", async () => {
    const growing = world.image({ properties: { auto_disk_config: "True" } });
    expect((await create({}, growing)).json("server", "OS-DCF:diskConfig")).toBe("AUTO");
    const fixed = world.image({ properties: { auto_disk_config: "Disabled" } });
    const rejection = await create({ "OS-DCF:diskConfig": "AUTO" }, fixed);
    expect([rejection.status, rejection.message]).toEqual([
      400,
      `Requested image ${fixed} has automatic disk resize disabled.`,
    ]);
    expect((await create({ "OS-DCF:diskConfig": "MANUAL" }, fixed)).status).toBe(202);
  });

  test.each([{ accessIPv4: "::1" }, { accessIPv6: "192.0.2.1" }, { "OS-DCF:diskConfig": "auto" }])(
    "%o is rejected",
    async (attributes) => {
      expect((await create(attributes)).status).toBe(400);
    },
  );
});
