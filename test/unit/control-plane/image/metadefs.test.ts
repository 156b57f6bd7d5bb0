import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { ImageWorld } from "./image-world.js";

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld();
});

const ALL = "/v2/metadefs/namespaces";

const as = (caller: Caller = "admin") => ({ as: caller });
const get = (path: string, caller: Caller = "admin") => world.ask("GET", ALL + path, as(caller));
function send(method: string, path: string, body?: unknown, caller: Caller = "admin") {
  return world.ask(method, ALL + path, { ...as(caller), ...(body === undefined ? {} : { body }) });
}

const FULL = {
  namespace: "n1",
  visibility: "public",
  display_name: "N",
  resource_type_associations: [{ name: "OS::Nova::Server", prefix: "hw:" }],
  properties: { p: { title: "P", type: "string" } },
  objects: [{ name: "o", properties: { x: { title: "X", type: "integer" } } }],
  tags: [{ name: "t" }],
};

describe("a namespace", () => {
  test("is created with its definitions, survives a restart, and is deleted with them", async () => {
    const reply = await send("POST", "", FULL);
    expect([reply.status, reply.headers.location]).toEqual([201, `http://127.0.0.1:8774/image${ALL}/n1`]);
    expect(reply.json()).toMatchObject({ ...FULL, protected: false, owner: "admin", self: `${ALL}/n1` });
    world.restart();
    expect((await get("/n1", "reader")).json()).toMatchObject({
      ...{ namespace: "n1", display_name: "N", visibility: "public", properties: FULL.properties, tags: FULL.tags },
      objects: [{ name: "o", required: [], self: `${ALL}/n1/objects/o`, schema: "/v2/schemas/metadefs/object" }],
      resource_type_associations: [{ name: "OS::Nova::Server", prefix: "hw:" }],
    });
    expect((await send("DELETE", "/n1")).status).toBe(204);
    await send("POST", "", { namespace: "n1" });
    expect((await get("/n1/objects")).json("objects")).toEqual([]);
  });

  test("with an invalid definition is not created", async () => {
    const objects = [{ name: "o" }, { name: "o" }];
    expect((await send("POST", "", { ...FULL, objects })).status).toBe(409);
    expect((await get("/n1")).status).toBe(404);
  });

  test("is created, changed and deleted by administrators only, and visible to others if public", async () => {
    expect((await send("POST", "", FULL, "demo")).message).toContain("add_metadef_namespace");
    await send("POST", "", FULL);
    await send("POST", "", { namespace: "secret" });
    const names = async (caller: Caller) =>
      ((await get("", caller)).json("namespaces") as { namespace: string }[]).map(({ namespace }) => namespace);
    expect([await names("admin"), await names("demo")]).toEqual([["secret", "n1"], ["n1"]]);
    expect((await get("/secret", "demo")).status).toBe(404);
    expect((await get("/secret/tags", "demo")).message).toContain("Namespace secret not found");
    expect((await send("PUT", "/n1", { namespace: "n1" }, "demo")).status).toBe(403);
    expect((await send("DELETE", "/n1", undefined, "demo")).status).toBe(403);
    expect((await send("DELETE", "/secret", undefined, "demo")).status).toBe(404);
  });

  test("that is protected cannot be deleted, nor its definitions", async () => {
    await send("POST", "", { ...FULL, protected: true });
    for (const path of [
      "",
      "/objects",
      "/objects/o",
      "/properties/p",
      "/tags",
      "/tags/t",
      "/resource_types/OS::Nova::Server",
    ]) {
      const reply = await send("DELETE", `/n1${path}`);
      expect([path, reply.status, reply.message]).toEqual([path, 403, expect.stringContaining("cannot be deleted.")]);
    }
    const changed = await send("PUT", "/n1", { namespace: "n2", description: "d" });
    expect(changed.json()).toMatchObject({
      namespace: "n2",
      description: "d",
      visibility: "private",
      protected: false,
    });
    expect((await get("/n2/tags")).json()).toEqual({ tags: [{ name: "t" }] });
    expect((await send("DELETE", "/n2")).status).toBe(204);
  });

  test.each([
    [{}, 400, "&#x27;namespace&#x27; is a required property"],
    [{ namespace: 5 }, 400, "5 is not of type"],
    [{ namespace: "n".repeat(81) }, 400, "is too long"],
    [{ namespace: "n", bad: 1 }, 400, "Additional properties are not allowed"],
    [{ namespace: "n", schema: "x" }, 403, "Attribute &#x27;schema&#x27; is read-only."],
    [{ namespace: "n", properties: { p: { type: "string" } } }, 400, "&#x27;title&#x27; is a required property"],
    [{ namespace: "taken" }, 409, "already exists"],
  ])("is rejected: %j", async (body, status, message) => {
    await send("POST", "", { namespace: "taken" });
    const reply = await send("POST", "", body);
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test("cannot take the name of another", async () => {
    await send("POST", "", { namespace: "a" });
    await send("POST", "", { namespace: "b" });
    expect((await send("PUT", "/a", { namespace: "b" })).status).toBe(409);
  });

  test("is found by visibility and type, in pages", async () => {
    await send("POST", "", FULL);
    await send("POST", "", { namespace: "n2" });
    const names = async (query: string) =>
      ((await get(query)).json("namespaces") as { namespace: string }[]).map(({ namespace }) => namespace);
    expect(await names("?visibility=public")).toEqual(["n1"]);
    expect(await names("?resource_types=OS::Nova::Server,OS::X")).toEqual(["n1"]);
    const first = await get("?limit=1");
    expect(first.json("next")).toBe(`${ALL}?limit=1&marker=n2`);
    expect(await names("?limit=1&marker=n2")).toEqual(["n1"]);
    for (const query of ["?visibility=zz", "?limit=x", "?limit=-1"]) {
      expect((await get(query)).status).toBe(400);
    }
    expect((await get("?marker=zz")).status).toBe(404);
  });
});

describe("definitions in a namespace", () => {
  beforeEach(async () => {
    await send("POST", "", FULL);
  });

  test.each([
    ["objects", { name: "new" }, { name: "newer", description: "d" }, "o"],
    ["properties", { name: "new", title: "T", type: "string" }, { name: "newer", title: "U", type: "number" }, "p"],
  ])("%s are created, returned, changed, renamed and deleted", async (collection, body, other, taken) => {
    const path = `/n1/${collection}`;
    expect((await send("POST", path, body, "demo")).status).toBe(403);
    expect((await send("POST", path, body)).status).toBe(201);
    expect((await send("POST", path, body)).status).toBe(409);
    expect((await get(`${path}/new`, "reader")).json()).toMatchObject(body);
    expect((await send("PUT", `${path}/new`, { ...other, name: taken })).status).toBe(409);
    expect((await send("PUT", `${path}/new`, other)).json()).toMatchObject(other);
    expect((await get(`${path}/new`)).status).toBe(404);
    expect((await send("PUT", `${path}/new`, other)).status).toBe(404);
    expect((await send("DELETE", `${path}/newer`, undefined, "demo")).status).toBe(403);
    expect((await send("DELETE", `${path}/newer`)).status).toBe(204);
    expect((await send("DELETE", `${path}/newer`)).status).toBe(404);
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await get(`${path}/${taken}`)).status).toBe(404);
  });

  test("tags are added one by one, or replaced in one request", async () => {
    expect((await send("POST", "/n1/tags/new")).json("name")).toBe("new");
    expect((await send("POST", "/n1/tags/new")).status).toBe(409);
    expect((await send("PUT", "/n1/tags/new", { name: "newer" })).json("name")).toBe("newer");
    expect((await get("/n1/tags")).json("tags")).toEqual([{ name: "newer" }, { name: "t" }]);
    expect((await send("POST", "/n1/tags", { tags: [{ name: "a" }, { name: "b" }] })).json()).toEqual({
      tags: [{ name: "a" }, { name: "b" }],
    });
    expect((await send("POST", "/n1/tags", { tags: [{ name: "a" }, { name: "a" }] })).status).toBe(409);
    expect((await get("/n1/tags?limit=1")).json("tags")).toEqual([{ name: "b" }]);
    expect((await get("/n1/tags?marker=b")).json("tags")).toEqual([{ name: "a" }]);
    const headers = { "x-openstack-append": "True" };
    await world.ask("POST", `${ALL}/n1/tags`, { ...as(), headers, body: { tags: [{ name: "c" }] } });
    expect((await get("/n1/tags")).json("tags")).toHaveLength(3);
    await send("DELETE", "/n1/tags");
    expect((await get("/n1/tags")).json("tags")).toEqual([]);
  });

  test("resource types are associated and listed from then on", async () => {
    const path = "/n1/resource_types";
    expect((await send("POST", path, { name: "OS::New::Thing", prefix: "x:" })).json("prefix")).toBe("x:");
    expect((await send("POST", path, { name: "OS::New::Thing" })).status).toBe(409);
    expect((await get(path)).json("resource_type_associations")).toHaveLength(2);
    expect((await send("DELETE", `${path}/OS::New::Thing`)).status).toBe(204);
    expect((await send("DELETE", `${path}/OS::New::Thing`)).message).toContain("Failed to find resource type");
    const types = (await world.ask("GET", "/v2/metadefs/resource_types")).json("resource_types") as { name: string }[];
    expect(types.map(({ name }) => name)).toEqual(expect.arrayContaining(["OS::Nova::Server", "OS::New::Thing"]));
  });

  test("are at most a thousand of a kind", async () => {
    const tags = Array.from({ length: 1001 }, (_, at) => ({ name: `t${at}` }));
    const reply = await send("POST", "/n1/tags", { tags });
    expect([reply.status, reply.message]).toEqual([413, expect.stringContaining("it may have 1000")]);
    expect((await get("/n1/tags")).json("tags")).toEqual([{ name: "t" }]);
  });
});

describe("service information", () => {
  test.each([
    ["image", "image"],
    ["images", "images"],
    ["member", "member"],
    ["members", "members"],
    ["task", "task"],
    ["tasks", "tasks"],
    ["metadefs/namespace", "namespace"],
    ["metadefs/namespaces", "namespaces"],
    ["metadefs/resource_type", "resource_type_association"],
    ["metadefs/resource_types", "resource_type_associations"],
    ["metadefs/property", "property"],
    ["metadefs/properties", "properties"],
    ["metadefs/object", "object"],
    ["metadefs/objects", "objects"],
    ["metadefs/tag", "tag"],
    ["metadefs/tags", "tags"],
  ])("schema %s", async (path, name) => {
    expect((await world.ask("GET", `/v2/schemas/${path}`)).json()).toMatchObject({
      name,
      properties: expect.anything(),
    });
  });

  test("import methods and stores are listed, and nothing is limited", async () => {
    expect((await world.ask("GET", "/v2/info/import")).json("import-methods", "value")).toEqual([
      ...["glance-direct", "copy-image", "glance-download"],
    ]);
    const stores = [{ id: "fast", default: "true" }, { id: "reliable" }];
    expect((await world.ask("GET", "/v2/info/stores")).json("stores")).toMatchObject(stores);
    expect((await world.ask("GET", "/v2/info/stores/detail")).status).toBe(403);
    const detail = await world.ask("GET", "/v2/info/stores/detail", as());
    expect(detail.json("stores", 0)).toMatchObject({ id: "fast", type: "file" });
    expect((await world.ask("GET", "/v2/info/usage")).json()).toEqual({ usage: {} });
  });
});
