import { describe, expect, test } from "vitest";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

async function open() {
  const world = await ApiWorld.open();
  world.host("devstack1");
  world.host("devstack2");
  const post = (path: string, body: unknown, version?: number) =>
    world.ask({ method: "POST", url: `/compute/v2.1/os-aggregates${path}`, body, version });
  const create = async (name: string, zone?: string): Promise<number> => {
    const reply = await post("", { aggregate: { name, ...(zone === undefined ? {} : { availability_zone: zone }) } });
    expect(reply.status, reply.body).toBe(200);
    return Number(reply.json("aggregate", "id"));
  };
  const addHost = (id: number, host: string) => post(`/${id}/action`, { add_host: { host } });
  const removeHost = (id: number, host: string) => post(`/${id}/action`, { remove_host: { host } });
  const show = async (id: number) => (await world.ask({ url: `/compute/v2.1/os-aggregates/${id}` })).json("aggregate");
  return { world, post, create, addHost, removeHost, show };
}

describe("os-aggregates", () => {
  test("the response to a creation omits hosts and metadata, and has the uuid since 2.41", async () => {
    const { world, post } = await open();
    const body = { aggregate: { name: "rack1", availability_zone: "az1" } };
    const made = (await post("", body, 41)).json("aggregate") as Record<string, unknown>;
    expect(made).toEqual({
      id: 1,
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "rack1",
      availability_zone: "az1",
      created_at: expect.stringMatching(/\.\d{6}$/),
      updated_at: null,
      deleted: false,
      deleted_at: null,
    });
    const listed = (await world.ask({ url: "/compute/v2.1/os-aggregates", version: 40 })).json("aggregates");
    const { uuid: _, ...before41 } = made;
    expect(listed).toEqual([{ ...before41, hosts: [], metadata: { availability_zone: "az1" } }]);
  });

  test("hosts of an aggregate are mirrored to the providers of their nodes", async () => {
    const { world, create, addHost, removeHost, show } = await open();
    const id = await create("rack1");
    const added = await addHost(id, "devstack1");
    expect([added.status, added.json("aggregate", "hosts")]).toEqual([200, ["devstack1"]]);
    expect((await removeHost(id, "devstack1")).json("aggregate", "hosts")).toEqual([]);
    const uuid = world.store.aggregates.get(id)?.uuid;
    expect(added.json("aggregate", "updated_at")).toBeNull();
    expect(world.mirrored).toEqual([`+ ${uuid} devstack1`, `- ${uuid} devstack1`]);
    expect(await show(id)).toMatchObject({ hosts: [], updated_at: null });
  });

  test("updated_at is stored for a new name, and only in the response for new metadata", async () => {
    const { world, post, create, show } = await open();
    const id = await create("rack1");
    const put = (aggregate: unknown) =>
      world.ask({ method: "PUT", url: `/compute/v2.1/os-aggregates/${id}`, body: { aggregate } });
    const time = expect.stringMatching(/\.\d{6}$/);
    const set = await post(`/${id}/action`, { set_metadata: { metadata: { ssd: "true" } } });
    expect(set.json("aggregate", "updated_at")).toEqual(time);
    expect(await show(id)).toMatchObject({ metadata: { ssd: "true" }, updated_at: null });
    expect((await put({ availability_zone: "az1" })).json("aggregate", "updated_at")).toEqual(time);
    expect(await show(id)).toMatchObject({ availability_zone: "az1", updated_at: null });
    expect((await put({ name: "rack2" })).json("aggregate", "updated_at")).toEqual(time);
    expect(await show(id)).toMatchObject({ name: "rack2", updated_at: time });
  });

  test("5.9 adding a host succeeds although the mirror fails; removing one fails and the host stays", async () => {
    const { world, create, addHost, removeHost, show } = await open();
    const id = await create("rack1");
    world.mirrorFailure = new PlacementError("ResourceProviderUpdateFailed", "no");
    expect((await addHost(id, "devstack1")).status).toBe(200);
    expect((await removeHost(id, "devstack1")).status).toBe(500);
    world.mirrorFailure = new PlacementError("ResourceProviderUpdateConflict", "kept changing");
    expect((await removeHost(id, "devstack1")).status).toBe(409);
    expect(await show(id)).toMatchObject({ hosts: ["devstack1"] });
  });

  test("rejects hosts that cannot be added or removed", async () => {
    const { world, create, addHost, removeHost } = await open();
    const id = await create("rack1");
    await addHost(id, "devstack1");
    const toStatusAndMessage = async (reply: Awaited<ReturnType<typeof addHost>>) => [reply.status, reply.message];
    expect(await toStatusAndMessage(await addHost(id, "devstack1"))).toEqual([
      409,
      `Aggregate ${id} already has host devstack1.`,
    ]);
    expect(await toStatusAndMessage(await addHost(id, "nowhere"))).toEqual([
      404,
      "Host 'nowhere' is not mapped to any cell",
    ]);
    world.store.services.destroy(world.host("lost").id);
    expect(await toStatusAndMessage(await addHost(id, "lost"))).toEqual([404, "Compute host lost could not be found."]);
    expect(await toStatusAndMessage(await addHost(99, "devstack1"))).toEqual([404, "Aggregate 99 could not be found."]);
    const missing = `Cannot remove host devstack2 in aggregate ${id}`;
    expect(await toStatusAndMessage(await removeHost(id, "devstack2"))).toEqual([404, missing]);
    expect(world.mirrored).toHaveLength(1);
  });

  test("metadata is merged, and null removes a key", async () => {
    const { post, create } = await open();
    const id = await create("rack1", "az1");
    const set = (metadata: unknown) => post(`/${id}/action`, { set_metadata: { metadata } });
    expect((await set({ ssd: "true" })).json("aggregate", "metadata")).toEqual({
      availability_zone: "az1",
      ssd: "true",
    });
    expect((await set({ ssd: null })).json("aggregate", "metadata")).toEqual({ availability_zone: "az1" });
    expect((await set({ ssd: 1 })).status).toBe(400);
  });

  test("names are unique, and only empty aggregates are deleted", async () => {
    const { world, post, create, addHost, removeHost } = await open();
    const id = await create("rack1");
    const url = `/compute/v2.1/os-aggregates/${id}`;
    expect((await post("", { aggregate: { name: "rack1" } })).status).toBe(409);
    const other = await create("rack2");
    const rename = {
      method: "PUT",
      url: `/compute/v2.1/os-aggregates/${other}`,
      body: { aggregate: { name: "rack1" } },
    };
    expect((await world.ask(rename)).message).toBe("Aggregate rack1 already exists.");
    await addHost(id, "devstack1");
    const rejection = await world.ask({ method: "DELETE", url });
    expect([rejection.status, rejection.message]).toEqual([
      400,
      `Cannot remove host from aggregate ${id}. Reason: Host aggregate is not empty.`,
    ]);
    await removeHost(id, "devstack1");
    expect((await world.ask({ method: "DELETE", url })).status).toBe(200);
    expect((await world.ask({ method: "DELETE", url })).status).toBe(404);
    expect((await world.ask({ url: "/compute/v2.1/os-aggregates/x" })).status).toBe(400);
  });

  test("images can be cached since 2.81", async () => {
    const { world, post, create } = await open();
    const id = await create("rack1");
    const body = { cache: [{ id: "c0ffee00-0000-4000-8000-000000000001" }] };
    expect((await post(`/${id}/images`, body, 80)).status).toBe(404);
    expect((await post(`/${id}/images`, body, 81)).status).toBe(202);
    expect((await post(`/${id}/images`, { cache: [] }, 81)).status).toBe(400);
    const missing = "c0ffee00-0000-4000-8000-00000000dead";
    const rejection = await post(`/${id}/images`, { cache: [...body.cache, { id: missing }] }, 81);
    expect([rejection.status, rejection.message]).toEqual([400, `Image ${missing} could not be found.`]);
    const twice = await post(`/${id}/images`, { cache: [...body.cache, ...body.cache] }, 81);
    expect([twice.status, twice.message]).toEqual([400, "Duplicate images in request"]);
    expect(world.casts).toEqual([]);
  });

  test.each([
    '{"add_host": {"host": "devstack1"}, "remove_host": {"host": "devstack1"}}',
    '{"explode": {}}',
    '{"toString": {}}',
    "[]",
  ])("%s is rejected as an unknown action", async (body) => {
    const { post, create } = await open();
    expect((await post(`/${await create("rack1")}/action`, body)).status).toBe(400);
  });
});

describe("availability zones of aggregates", () => {
  test("hosts of the aggregate are listed in its zone, and their servers have it", async () => {
    const { world, create, addHost } = await open();
    await addHost(await create("rack1", "az1"), "devstack1");
    const { uuid } = world.server("devstack1");
    const reply = await world.ask({ url: "/compute/v2.1/os-availability-zone/detail" });
    const zones = reply.json("availabilityZoneInfo") as { zoneName: string; hosts: object | null }[];
    const hosts = zones.map((zone) => [zone.zoneName, Object.keys(zone.hosts ?? {})]);
    expect(hosts.toSorted()).toEqual([
      ["az1", ["devstack1"]],
      ["nova", ["devstack2"]],
    ]);
    const serverReply = await world.ask({ url: `/compute/v2.1/servers/${uuid}` });
    expect(serverReply.json("server", "OS-EXT-AZ:availability_zone")).toBe("az1");
  });

  test("a host can be in one zone only", async () => {
    const { create, addHost } = await open();
    await addHost(await create("rack1", "az1"), "devstack1");
    const second = await create("rack2", "az2");
    const rejection = await addHost(second, "devstack1");
    expect([rejection.status, rejection.message]).toEqual([
      409,
      `Cannot add host to aggregate ${second}. Reason: One or more hosts already in availability zone(s) ['az1'].`,
    ]);
    expect((await addHost(await create("rack3", "az1"), "devstack1")).status).toBe(200);
    expect((await addHost(await create("ssd"), "devstack1")).status).toBe(200);
  });

  test("the zones of other aggregates are listed in Python's format, once each", async () => {
    const { post, create, addHost } = await open();
    const id = await create("all");
    for (const host of ["devstack1", "devstack2"]) {
      await addHost(id, host);
    }
    const other = await create("rack1", "bob's");
    for (const host of ["devstack1", "devstack2"]) {
      await addHost(other, host);
    }
    const rejection = await post(`/${id}/action`, { set_metadata: { metadata: { availability_zone: "az1" } } });
    expect([rejection.status, rejection.message]).toEqual([
      400,
      `Cannot update metadata of aggregate ${id}. Reason: One or more hosts already in availability zone(s) ["bob's"].`,
    ]);
  });

  test("a host with servers can neither enter nor leave a zone", async () => {
    const { world, create, addHost, removeHost } = await open();
    const id = await create("rack1", "az1");
    const reason = (change: string, from: string, to: string) =>
      `The host cannot be ${change} the aggregate as the availability zone of the host would change from '${from}' to ` +
      `'${to}' but the host already has 1 instance(s). Changing the AZ of an existing instance is not supported by this ` +
      "action. Move the instances away from this host then try again. If you need to move the instances between AZs " +
      "then you can use shelve_offload and unshelve to achieve this..";
    world.server("devstack1");
    const added = await addHost(id, "devstack1");
    expect([added.status, added.message]).toEqual([
      409,
      `Cannot add host to aggregate ${id}. Reason: ${reason("added to", "None", "az1")}`,
    ]);
    await addHost(id, "devstack2");
    world.server("devstack2");
    const removed = await removeHost(id, "devstack2");
    expect([removed.status, removed.message]).toEqual([
      409,
      `Cannot remove host from aggregate ${id}. Reason: ${reason("removed from", "az1", "None")}`,
    ]);
    const same = await create("rack2", "az1");
    const plain = await create("ssd");
    for (const aggregate of [same, plain]) {
      expect((await addHost(aggregate, "devstack2")).status).toBe(200);
      expect((await removeHost(aggregate, "devstack2")).status).toBe(200);
    }
    expect(world.store.aggregates.get(id)?.hosts).toEqual(["devstack2"]);
  });

  test("a zone with servers can be neither removed nor changed", async () => {
    const { world, create, addHost, show } = await open();
    const id = await create("rack1", "az1");
    await addHost(id, "devstack1");
    const change = (aggregate: unknown) =>
      world.ask({ method: "PUT", url: `/compute/v2.1/os-aggregates/${id}`, body: { aggregate } });
    expect((await change({ availability_zone: null })).message).toBe(
      `Cannot update aggregate ${id}. Reason: Aggregate rack1 does not support empty named availability zone.`,
    );
    world.server("devstack1");
    const rejection = await change({ name: "other", availability_zone: "az2" });
    expect([rejection.status, rejection.message]).toEqual([
      400,
      `Cannot update aggregate ${id}. Reason: One or more hosts contain instances in this zone.`,
    ]);
    expect(await show(id)).toMatchObject({ name: "rack1", availability_zone: "az1" });
    expect((await change({ availability_zone: "a:b" })).status).toBe(400);
    expect((await change({ name: " other ", availability_zone: "az1" })).json("aggregate", "name")).toBe("other");
  });

  test("a server can be requested in the zone, and not in an unknown one", async () => {
    const { world, create, addHost } = await open();
    world.flavor();
    await addHost(await create("rack1", "az1"), "devstack1");
    const boot = (zone: string) =>
      world.ask({
        method: "POST",
        url: "/compute/v2.1/servers",
        version: 37,
        body: {
          server: {
            name: "vm",
            flavorRef: "1",
            imageRef: "c0ffee00-0000-4000-8000-000000000001",
            networks: "none",
            availability_zone: zone,
          },
        },
      });
    expect((await boot("az2")).message).toBe("The requested availability zone is not available");
    expect((await boot("az1")).status).toBe(202);
  });
});

describe("the zone of a pinned server", () => {
  test("is dropped with a warning if it is not the forced host's", async () => {
    const { world, create, addHost } = await open();
    world.flavor();
    await addHost(await create("west", "west"), "devstack1");
    const pinned = async (zone: string) => {
      const server = { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none", availability_zone: zone };
      const reply = await world.ask({ method: "POST", url: "/compute/v2.1/servers", version: 37, body: { server } });
      return world.store.requests.spec(String(reply.json("server", "id")))?.availabilityZone;
    };
    expect(await pinned("west:devstack1")).toBe("west");
    expect(await pinned("nova:devstack1")).toBeNull();
    expect(await pinned("west:devstack2")).toBeNull();
    expect(await pinned("nova:devstack2")).toBe("nova");
    expect(await pinned("bogus:devstack2")).toBeNull();
    const warnings = world.runtime.logs.filter(({ level }) => level === "warn");
    expect(warnings.map(({ message }) => message)).toEqual(
      Array.from({ length: 3 }, () => "ignoring the requested availability zone: the forced host is in another one"),
    );
  });

  test.each<[string, object, number]>([
    ["devstack1", {}, 202],
    ["devstack2", {}, 409],
    ["devstack2", { availability_zone: null }, 202],
    ["devstack2", { availability_zone: "nova" }, 202],
    ["devstack1", { availability_zone: "nova" }, 409],
  ])("restricts the host of an unshelve: %s with %j is %i", async (host, more, status) => {
    const { world, create, addHost } = await open();
    await addHost(await create("west", "west"), "devstack1");
    const instance = world.server(null, { vmState: "shelved_offloaded" });
    const { uuid: instanceUuid, projectId, userId, flavor, imageRef } = instance;
    const spec = {
      instanceUuid,
      projectId,
      userId,
      flavor,
      imageRef,
      isBfv: false,
      numInstances: 1,
      schedulerHints: {},
    };
    world.store.requests.saveSpec({ ...spec, availabilityZone: "west" });
    const reply = await world.act(instance, { unshelve: { host, ...more } }, 91);
    expect(reply.status, reply.body).toBe(status);
    const zone = host === "devstack1" ? "nova" : "west";
    if (status === 409) {
      expect(reply.message).toBe(`Host "${host}" is not in the availability zone "${zone}".`);
    }
  });
});
