import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../compute/api-world.js";

const SNAPSHOT = "5a000000-0000-4000-8000-000000000001";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

const get = (path: string, token?: string) => world.ask({ url: `/image${path}`, token });

describe("images", () => {
  test("are listed, shown and found by name", async () => {
    expect((await get("/v2/images")).json("images")).toMatchObject([{ id: CIRROS, name: "cirros", status: "active" }]);
    expect((await get(`/v2/images/${CIRROS}`)).json("name")).toBe("cirros");
    expect((await get("/v2/images?name=cirros")).json("images")).toHaveLength(1);
    expect((await get("/v2/images?name=other")).json("images")).toEqual([]);
    expect((await get("/v2/images?limit=0")).json("images")).toEqual([]);
    expect((await get(`/v2/images?marker=${CIRROS}`)).json("images")).toEqual([]);
  });

  test("6.6 the snapshot of a shelved server is there until it is unshelved; its project sees it, and administrators", async () => {
    const systemMetadata = { shelved_at: "1767225600000", shelved_image_id: SNAPSHOT, shelved_host: "devstack1" };
    const { uuid } = world.server(null, { vmState: "shelved_offloaded", systemMetadata });
    expect((await get(`/v2/images/${SNAPSHOT}`)).json()).toMatchObject({
      name: "vm1-shelved",
      status: "active",
      visibility: "private",
      image_type: "snapshot",
      base_image_ref: CIRROS,
      instance_uuid: uuid,
      created_at: "2026-01-01T00:00:00Z",
    });
    const ids = async (token?: string) =>
      ((await get("/v2/images", token)).json("images") as { id: string }[]).map(({ id }) => id);
    expect(await ids()).toEqual([CIRROS, SNAPSHOT]);
    expect(await ids(await world.token("demo"))).toEqual([CIRROS]);
    world.store.instances.save(uuid, { vmState: "active" });
    expect(await ids()).toEqual([CIRROS]);
  });

  test("that are not there: 404 as a page", async () => {
    const reply = await get("/v2/images/<b>");
    expect([reply.status, reply.headers["content-type"]]).toEqual([404, "text/html; charset=UTF-8"]);
    expect(reply.body).toContain("No image found with ID &lt;b&gt;");
  });

  test("can be read only", async () => {
    expect((await world.ask({ method: "POST", url: "/image/v2/images", body: {} })).status).toBe(405);
    expect((await get("/v3/images")).status).toBe(404);
  });

  test("have a schema with the members that they have", async () => {
    const [image] = (await get("/v2/images")).json("images") as Record<string, unknown>[];
    const { properties } = (await get("/v2/schemas/image")).json() as { properties: object };
    expect(Object.keys(image ?? {}).sort()).toEqual(Object.keys(properties).sort());
    expect((await get("/v2/schemas/images")).json("properties", "images", "items")).toMatchObject({ name: "image" });
  });

  test("are for who has a token; versions are for all", async () => {
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
