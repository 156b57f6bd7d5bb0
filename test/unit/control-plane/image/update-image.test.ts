import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { CIRROS, ImageWorld } from "./image-world.js";

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld();
});

const post = (body: unknown, as: Caller = "demo") => world.ask("POST", "/v2/images", { as, body });

const many = (count: number) => Array.from({ length: count }, (_, at) => `x${at}`);

describe("a new image", () => {
  test("is returned with its location, import methods and stores", async () => {
    const reply = await post({ name: "a", tags: ["b", "a", "b"], hw_disk_bus: "scsi" });
    const id = String(reply.json("id"));
    expect(reply.status).toBe(201);
    expect(reply.headers).toMatchObject({
      location: `http://127.0.0.1:8774/image/v2/images/${id}`,
      "openstack-image-import-methods": "glance-direct,copy-image,glance-download",
    });
    expect(reply.json()).toMatchObject({ visibility: "shared", owner: "demo", tags: ["a", "b"], hw_disk_bus: "scsi" });
  });

  test.each([
    [{ name: 5 }, 400, "Provided object does not match schema &#x27;image&#x27;: 5 is not of type"],
    [{ disk_format: "wrong" }, 400, "&#x27;wrong&#x27; is not one of [None, &#x27;ami&#x27;"],
    [{ min_disk: -1 }, 400, "Invalid value &#x27;-1&#x27; for parameter &#x27;min_disk&#x27;"],
    [{ min_ram: 2 ** 31 }, 400, "for parameter &#x27;min_ram&#x27;"],
    [{ status: "active" }, 403, "Attribute &#x27;status&#x27; is read-only."],
    [{ self: "x" }, 403, "Attribute &#x27;self&#x27; is read-only."],
    [{ locations: [] }, 403, "Attribute &#x27;locations&#x27; is reserved."],
    [{ os_glance_x: "x" }, 403, "Attribute &#x27;os_glance_x&#x27; is reserved."],
    [{ deleted: "x" }, 403, "Attribute &#x27;deleted&#x27; is reserved."],
    [{ visibility: "public" }, 403, "You are not authorized to complete publicize_image action."],
    [{ owner: "zz" }, 403, "You are not permitted to create images owned by &#x27;zz&#x27;."],
    [{ a: 1 }, 400, "1 is not of type &#x27;string&#x27;"],
    [{ ["n".repeat(256)]: "x" }, 400, "Custom property should not be greater than 255 characters."],
    [{ long: "ä".repeat(40_000) }, 400, "The value of property long has more than 65535 bytes."],
    [{ tags: ["t".repeat(256)] }, 400, "is too long"],
    [{ tags: many(129) }, 413, "number of allowed image tags. Attempted: 129, Maximum: 128"],
    [Object.fromEntries(many(129).map((name) => [name, ""])), 413, "image properties. Attempted: 129, Maximum: 128"],
    [{ x: "x".repeat(200_000) }, 413, "Request is too large"],
    ["", 400, "Body expected in request."],
    ["{", 400, "Malformed JSON in request body."],
    [[1], 400, "Expected a JSON object"],
  ])("is rejected: %.60j", async (body, status, message) => {
    const reply = await post(body);
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test("has the requested id, which must be unique", async () => {
    const id = "AAAAAAAA-1111-4111-8111-111111111111";
    expect((await post({ id })).json("id")).toBe(id.toLowerCase());
    expect((await post({ id })).status).toBe(409);
    expect((await post({ id: CIRROS })).status).toBe(409);
  });

  test("omits null properties, and accepts null for image references", async () => {
    const kernel = "11111111-1111-4111-8111-111111111111";
    const id = await world.image({ kernel_id: kernel, ramdisk_id: null });
    expect(await world.show(id)).toMatchObject({ kernel_id: kernel });
    expect(await world.show(id)).not.toHaveProperty("ramdisk_id");
    const image = (await world.patch(id, [{ op: "replace", path: "/kernel_id", value: null }])).json();
    expect(image).not.toHaveProperty("kernel_id");
    expect((await post({ kernel_id: "none" })).status).toBe(400);
  });

  test("needs the role member", async () => {
    expect((await post({}, "reader")).status).toBe(403);
    expect((await post({}, "unscoped")).status).toBe(403);
    expect((await post({ owner: "other", visibility: "public" }, "admin")).status).toBe(201);
  });

  test("accepts a property of any name", async () => {
    const id = String((await post('{"__proto__": "a", "toString": "b"}')).json("id"));
    expect(Object.entries(await world.show(id))).toEqual(
      expect.arrayContaining([
        ["__proto__", "a"],
        ["toString", "b"],
      ]),
    );
  });
});

describe("a patch", () => {
  test.each([
    [[{ op: "replace", path: "/status", value: "x" }], 403, "Attribute &#x27;status&#x27; is read-only."],
    [[{ op: "replace", path: "/nope", value: "x" }], 409, "Property nope does not exist."],
    [[{ op: "replace", path: "/toString", value: "x" }], 409, "Property toString does not exist."],
    [[{ op: "remove", path: "/nope" }], 409, "Property nope does not exist."],
    [[{ op: "remove", path: "/name" }], 403, "Property name may not be removed."],
    [[{ op: "move", path: "/name" }], 400, "Invalid operation: `move`."],
    [[{ path: "/name" }], 400, "Unable to find `op` in JSON Schema change."],
    [[{ op: "add", value: 1 }], 400, "Unable to find &#x27;path&#x27; in JSON Schema change"],
    [[{ op: "add", path: "/a/b", value: "x" }], 400, "Invalid JSON pointer for this resource: &#x27;/a/b&#x27;"],
    [[{ op: "add", path: "a", value: "x" }], 400, "Pointer `a` does not start with &quot;/&quot;."],
    [[{ op: "add", path: "/a//b", value: "x" }], 400, "contains adjacent"],
    [[{ op: "add", path: "/a/", value: "x" }], 400, "end with"],
    [[{ op: "add", path: "/a~2", value: "x" }], 400, "not part of a recognized escape sequence."],
    [[{ op: "add", path: 7, value: "x" }], 400, "is no text"],
    [[{ op: "add", path: "/os_glance_a", value: "x" }], 403, "Attribute &#x27;os_glance_a&#x27; is reserved."],
    [[{ op: "add", path: "/locations/-", value: { url: "u", metadata: {} } }], 403, "not allowed to add locations"],
    [[{ op: "replace", path: "/owner", value: "x" }], 403, "Owner can&#x27;t be updated by non admin."],
    [[{ op: "replace", path: "/visibility", value: "public" }], 403, "publicize_image"],
    [[{ op: "replace", path: "/min_disk", value: -4 }], 400, "Cannot be a negative value"],
    [[{ op: "add", path: "/q" }], 400, "requires a member named &quot;value&quot;."],
    [{ op: 1 }, 400, "Request body must be a JSON array of operation objects."],
    [[1], 400, "Operations must be JSON objects."],
    [many(1001).map((name) => ({ op: "add", path: `/${name}`, value: "" })), 400, "there may be 1000"],
    [many(128).map((name) => ({ op: "add", path: `/${name}`, value: "" })), 413, "Attempted: 129, Maximum: 128"],
  ])("is rejected: %.80j", async (changes, status, message) => {
    const id = await world.image();
    const before = await world.show(id);
    const reply = await world.patch(id, [{ op: "add", path: "/first", value: "1" }].concat(changes as never));
    const alone = Array.isArray(changes) ? reply : await world.patch(id, changes);
    expect([alone.status, alone.message]).toEqual([status, expect.stringContaining(message)]);
    expect(await world.show(id)).toEqual(before);
  });

  test("of the older draft has the operation as a property's name, and adds only new ones", async () => {
    const id = await world.image();
    const old = { draft: 0 } as const;
    expect((await world.patch(id, [{ add: "/a~1b", value: "1" }], old)).json("a/b")).toBe("1");
    expect((await world.patch(id, [{ add: "/a~1b", value: "2" }], old)).status).toBe(409);
    expect((await world.patch(id, [{ add: "/x", replace: "/y", value: "2" }], old)).status).toBe(400);
    expect((await world.patch(id, [{ op: "add", path: "/x", value: "2" }], old)).status).toBe(400);
  });

  test("with another content type gets the accepted ones", async () => {
    const id = await world.image();
    const reply = await world.ask("PATCH", `/v2/images/${id}`, { body: [] });
    expect([reply.status, reply.headers["accept-patch"]]).toEqual([
      415,
      "application/openstack-images-v2.0-json-patch, application/openstack-images-v2.1-json-patch",
    ]);
  });

  test("is accepted for an image with too many properties if it adds none", async () => {
    const id = await world.image(Object.fromEntries(many(128).map((name) => [name, ""])));
    expect((await world.patch(id, [{ op: "replace", path: "/x0", value: "new" }])).json("x0")).toBe("new");
    expect((await world.patch(id, [{ op: "add", path: "/more", value: "" }])).status).toBe(413);
  });

  test("changes the formats only before the upload", async () => {
    const id = await world.image();
    const change = [{ op: "replace", path: "/disk_format", value: "qcow2" }];
    expect((await world.patch(id, change)).json("disk_format")).toBe("qcow2");
    const imageId = await world.uploadImage();
    const reply = await world.patch(imageId, change);
    expect([reply.status, reply.message]).toEqual([403, expect.stringContaining("only replaced for a queued image")]);
  });

  test("is for the project's members and administrators", async () => {
    const id = await world.image({ visibility: "community" });
    const change = [{ op: "replace", path: "/name", value: "new" }];
    expect((await world.patch(id, change, { as: "alt" })).status).toBe(403);
    expect((await world.patch(id, change, { as: "reader" })).status).toBe(403);
    const owner = [{ op: "replace", path: "/owner", value: "alt" }];
    expect((await world.patch(id, owner, { as: "admin" })).json("owner")).toBe("alt");
    expect((await world.patch(CIRROS, change, { as: "alt" })).status).toBe(403);
    expect((await world.patch(CIRROS, change, { as: "admin" })).json("name")).toBe("new");
  });
});

describe("tags", () => {
  test("are added and removed one by one", async () => {
    const id = await world.image();
    expect((await world.ask("PUT", `/v2/images/${id}/tags/b`)).status).toBe(204);
    await world.ask("PUT", `/v2/images/${id}/tags/a`);
    await world.ask("PUT", `/v2/images/${id}/tags/a`);
    expect((await world.show(id)).tags).toEqual(["a", "b"]);
    expect((await world.ask("DELETE", `/v2/images/${id}/tags/b`)).status).toBe(204);
    expect((await world.ask("DELETE", `/v2/images/${id}/tags/b`)).status).toBe(404);
    expect((await world.show(id)).tags).toEqual(["a"]);
  });

  test("are at most 128, each of at most 255 characters, and set by the owner", async () => {
    const id = await world.image({ tags: many(128), visibility: "community" });
    expect((await world.ask("PUT", `/v2/images/${id}/tags/more`)).status).toBe(413);
    expect((await world.ask("PUT", `/v2/images/${id}/tags/${"t".repeat(256)}`)).status).toBe(400);
    const reply = await world.ask("PUT", `/v2/images/${id}/tags/x`, { as: "alt" });
    expect([reply.status, reply.message]).toEqual([403, expect.stringContaining("Not allowed to update tags")]);
    expect((await world.ask("PUT", `/v2/images/${CIRROS}/tags/x`, { as: "alt" })).status).toBe(403);
    expect((await world.ask("PUT", `/v2/images/${CIRROS}/tags/x`, { as: "admin" })).status).toBe(204);
  });
});

describe("deleting", () => {
  test("is for the owner; the error tells others no more than they may see", async () => {
    const id = await world.image();
    const remove = (as: Caller) => world.ask("DELETE", `/v2/images/${id}`, { as });
    expect((await remove("alt")).message).toContain(`Failed to find image ${id} to delete`);
    expect((await remove("reader")).status).toBe(403);
    expect((await remove("demo")).status).toBe(204);
    expect((await remove("demo")).status).toBe(404);
  });
});
