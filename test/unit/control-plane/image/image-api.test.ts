import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../compute/api-world.js";

const PATCH = { "content-type": "application/openstack-images-v2.1-json-patch" };

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

const get = (path: string, token?: string) => world.ask({ url: `/image${path}`, token });
async function post(body: unknown, user: "admin" | "demo" = "admin") {
  return world.ask({ method: "POST", url: "/image/v2/images", body, token: await world.token(user) });
}

function patch(id: string, ...changes: readonly unknown[]) {
  return world.ask({ method: "PATCH", url: `/image/v2/images/${id}`, headers: PATCH, body: JSON.stringify(changes) });
}

async function made(changes: object = {}, user: "admin" | "demo" = "admin") {
  return String(
    (await post({ name: "mine", disk_format: "raw", container_format: "bare", ...changes }, user)).json("id"),
  );
}

const DEVSTACK_CIRROS = "c0ffee00-0000-4000-8000-000000000002";

describe("base images", () => {
  const remove = (token?: string) => world.ask({ method: "DELETE", url: `/image/v2/images/${CIRROS}`, token });
  const change = (body: unknown, token?: string) =>
    world.ask({
      method: "PATCH",
      url: `/image/v2/images/${CIRROS}`,
      body: JSON.stringify(body),
      token,
      headers: PATCH,
    });

  test("have size 0 and no data", async () => {
    for (const id of [CIRROS, DEVSTACK_CIRROS]) {
      const { size, checksum, os_hash_value: hash } = (await get(`/v2/images/${id}`)).json() as Record<string, unknown>;
      expect([size, checksum, hash]).toEqual([0, createHash("md5").digest("hex"), createHash("sha512").digest("hex")]);
      expect((await get(`/v2/images/${id}/file`)).status).toBe(204);
    }
  });

  test("are changed by administrators only, even while they are protected", async () => {
    const add = [{ op: "add", path: "/hw_disk_bus", value: "scsi" }];
    expect((await change(add, await world.token("demo"))).status).toBe(403);
    const reply = await change(add);
    expect([reply.status, reply.json("hw_disk_bus"), reply.json("protected")]).toEqual([200, "scsi", true]);
    expect((await get(`/v2/images/${CIRROS}`)).json("hw_disk_bus")).toBe("scsi");
  });

  test("can be deleted once they are unprotected", async () => {
    expect((await remove()).status).toBe(403);
    expect((await change([{ op: "replace", path: "/protected", value: false }])).status).toBe(200);
    expect((await remove(await world.token("demo"))).status).toBe(403);
    expect((await remove()).status).toBe(204);
    expect((await get(`/v2/images/${CIRROS}`)).status).toBe(404);
  });
});

describe("images", () => {
  test("are listed, returned and found by name", async () => {
    expect((await get("/v2/images")).json("images")).toMatchObject([
      { id: CIRROS, name: "cirros", status: "active" },
      { id: DEVSTACK_CIRROS, name: "cirros-0.6.3-x86_64-disk", status: "active" },
    ]);
    expect((await get(`/v2/images/${CIRROS}`)).json("name")).toBe("cirros");
    expect((await get("/v2/images?name=cirros")).json("images")).toHaveLength(1);
    expect((await get("/v2/images?name=other")).json("images")).toEqual([]);
    expect((await get("/v2/images?status=queued")).json("images")).toEqual([]);
    expect((await get("/v2/images?limit=0")).json("images")).toEqual([]);
    expect((await get(`/v2/images?marker=${DEVSTACK_CIRROS}`)).json("images")).toEqual([]);
  });

  test("are created without data for the caller's project, and deleted", async () => {
    const reply = await post({ name: "mine", disk_format: "qcow2", container_format: "bare", os_distro: "cirros" });
    expect([reply.status, reply.json()]).toMatchObject([
      201,
      { name: "mine", status: "queued", size: null, owner: world.projectId("admin"), os_distro: "cirros" },
    ]);
    const id = String(reply.json("id"));
    expect(reply.headers.location).toBe(`http://127.0.0.1:8774/image/v2/images/${id}`);
    expect((await get(`/v2/images/${id}`, await world.token("demo"))).status).toBe(404);
    expect((await world.ask({ method: "DELETE", url: `/image/v2/images/${id}` })).status).toBe(204);
    expect((await get(`/v2/images/${id}`)).status).toBe(404);
  });

  test("of a project are visible to it and to administrators; those of others cannot be changed", async () => {
    const token = await world.token("demo");
    const own = await made({}, "demo");
    const open = await made({ visibility: "public" });
    const ids = async (user: "admin" | "demo") =>
      ((await get("/v2/images", await world.token(user))).json("images") as { id: string }[]).map(({ id }) => id);
    expect(new Set(await ids("admin"))).toEqual(new Set([CIRROS, DEVSTACK_CIRROS, own, open]));
    expect(new Set(await ids("demo"))).toEqual(new Set([CIRROS, DEVSTACK_CIRROS, own, open]));
    expect((await world.ask({ method: "DELETE", url: `/image/v2/images/${open}`, token })).status).toBe(403);
    expect((await post({ visibility: "public" }, "demo")).status).toBe(403);
    expect((await post({ owner: "somebody" }, "demo")).status).toBe(403);
  });

  test("are changed by patches", async () => {
    const id = await made({ a: "1" });
    const changes = [
      { op: "replace", path: "/name", value: "new" },
      { op: "add", path: "/b", value: "2" },
      { op: "replace", path: "/min_disk", value: 3 },
      { op: "remove", path: "/a" },
    ];
    const reply = await patch(id, ...changes);
    expect([reply.status, reply.json()]).toMatchObject([200, { name: "new", b: "2", min_disk: 3 }]);
    expect(reply.json("a")).toBeUndefined();
    expect((await patch(id, { op: "replace", path: "/status", value: "active" })).status).toBe(403);
    expect((await patch(id, { op: "replace", path: "/never", value: "x" })).status).toBe(409);
    expect((await patch(id, { op: "replace", path: "/disk_format", value: "tape" })).status).toBe(400);
    expect((await patch(id, { op: "move" })).status).toBe(400);
    expect((await world.ask({ method: "PATCH", url: `/image/v2/images/${id}`, body: [] })).status).toBe(415);
  });

  test.each([
    [{ id: "no-uuid" }, 400],
    [{ id: CIRROS }, 409],
    [{ status: "active" }, 403],
    [{ min_disk: -1 }, 400],
    [{ property: 1 }, 400],
    [[], 400],
    ["{", 400],
  ])("%j is an invalid image", async (body, status) => {
    expect((await post(body)).status).toBe(status);
  });

  test("cannot be deleted while they are protected", async () => {
    expect((await world.ask({ method: "DELETE", url: `/image/v2/images/${CIRROS}` })).status).toBe(403);
    const id = await made({ protected: true });
    expect((await world.ask({ method: "DELETE", url: `/image/v2/images/${id}` })).status).toBe(403);
    await patch(id, { op: "replace", path: "/protected", value: false });
    expect((await world.ask({ method: "DELETE", url: `/image/v2/images/${id}` })).status).toBe(204);
  });

  test.each([
    ["*/*", "text/html; charset=UTF-8", "No image found with ID &lt;b&gt;<br /><br />"],
    ["application/json", "application/json", '"message":"No image found with ID &lt;b&gt;<br /><br />'],
    ["text/plain", "text/plain; charset=UTF-8", "404 Not Found\n\nNo image found with ID <b>"],
  ])("that do not exist are a 404, in the format for Accept: %s", async (accept, type, text) => {
    const reply = await world.ask({ url: "/image/v2/images/<b>", headers: { accept } });
    expect([reply.status, reply.headers["content-type"]]).toEqual([404, type]);
    expect(reply.body).toContain(text);
  });

  test("an unknown path is a 404; a wrong method is a 405 with the allowed ones", async () => {
    expect((await get("/v3/images")).status).toBe(404);
    expect((await get("/v2/images/")).status).toBe(404);
    const reply = await world.ask({ method: "DELETE", url: "/image/v2/images" });
    expect([reply.status, reply.headers.allow]).toEqual([405, "GET, POST"]);
  });

  test("have a schema with their properties", async () => {
    const [image] = (await get("/v2/images")).json("images") as Record<string, unknown>[];
    const schema = (await get("/v2/schemas/image")).json() as { properties: Record<string, { is_base?: boolean }> };
    const members = Object.keys(schema.properties).filter((name) => schema.properties[name]?.is_base !== false);
    const absent = ["direct_url", "locations"];
    expect([...Object.keys(image ?? {}), ...absent].sort()).toEqual(members.sort());
    expect((await get("/v2/schemas/images")).json("properties", "images", "items")).toMatchObject({ name: "image" });
  });

  test("need a token; the version list does not", async () => {
    const reply = await get("/v2/images", "nonsense");
    expect(reply.status).toBe(401);
    expect(reply.headers["www-authenticate"]).toBe('Keystone uri="http://127.0.0.1:8774/identity"');
    const versions = await get("/", "");
    expect([versions.status, versions.json("versions", 0, "links", 0, "href")]).toEqual([
      300,
      "http://127.0.0.1:8774/image/v2/",
    ]);
  });
});

describe("6.6 images of servers", () => {
  const act = (uuid: string, body: object, version = 1) =>
    world.ask({ method: "POST", url: `/compute/v2.1/servers/${uuid}/action`, body, version });
  const server = () => {
    world.host("devstack1");
    return world.server("devstack1").uuid;
  };

  test("exist at once without data, and the host gets the message", async () => {
    const uuid = server();
    const reply = await act(uuid, { createImage: { name: "copy", metadata: { why: "test" } } }, 45);
    const imageId = String(reply.json("image_id"));
    expect(reply.status).toBe(202);
    expect((await get(`/v2/images/${imageId}`)).json()).toMatchObject({
      name: "copy",
      status: "queued",
      visibility: "private",
      owner: world.projectId("admin"),
      base_image_ref: CIRROS,
      instance_uuid: uuid,
      image_type: "snapshot",
      why: "test",
    });
    expect(world.casts.at(-1)).toMatchObject({
      host: "devstack1",
      method: "snapshot_instance",
      params: { instanceUuid: uuid, imageId },
    });
    expect(world.store.instances.get(uuid)?.taskState).toBe("image_snapshot_pending");
    expect((await act(uuid, { createImage: { name: "again" } })).status).toBe(409);
  });

  test("before 2.45 are returned as a location", async () => {
    const reply = await act(server(), { createImage: { name: "copy" } });
    const [image] = ((await get("/v2/images?name=copy")).json("images") as { id: string }[]).map(({ id }) => id);
    expect([reply.status, reply.headers.location]).toEqual([202, `http://127.0.0.1:8774/image/v2/images/${image}`]);
  });

  test("cannot be used before their upload is complete", async () => {
    const id = await made();
    world.flavor();
    const body = { server: { name: "vm", imageRef: id, flavorRef: "1", networks: "none" } };
    const reply = await world.ask({ method: "POST", url: "/compute/v2.1/servers", body, version: 37 });
    expect([reply.status, reply.message]).toEqual([400, `Image ${id} is not active.`]);
  });

  test("that shelving creates are deleted with the server", async () => {
    const uuid = server();
    await act(uuid, { shelve: null });
    const [{ id } = { id: "" }] = (await get("/v2/images?name=vm1-shelved")).json("images") as { id: string }[];
    expect(world.casts.at(-1)?.params).toMatchObject({ imageId: id });
    const systemMetadata = { shelved_at: "1767225600000", shelved_image_id: id, shelved_host: "devstack1" };
    world.store.instances.save(uuid, { vmState: "shelved", taskState: null, systemMetadata });
    await world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${uuid}` });
    expect((await get(`/v2/images/${id}`)).status).toBe(404);
  });
});
