import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../compute/api-world.js";

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
