import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { CIRROS, ImageWorld, parts } from "./image-world.js";

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld({ sizeCap: 1000 });
});

function upload(id: string, content = "some bytes", as: Caller = "demo") {
  return world.ask("PUT", `/v2/images/${id}/file`, { as, bytes: parts(content) });
}

function stage(id: string, content = "some bytes", as: Caller = "demo") {
  return world.ask("PUT", `/v2/images/${id}/stage`, { as, bytes: parts(content) });
}

function bring(id: string, method: object, more: object = {}) {
  return world.ask("POST", `/v2/images/${id}/import`, { body: { method, ...more } });
}

const file = (id: string, as: Caller = "demo") => world.ask("GET", `/v2/images/${id}/file`, { as });

async function tasks(id: string) {
  return (await world.ask("GET", `/v2/images/${id}/tasks`)).json("tasks") as Readonly<Record<string, unknown>>[];
}

const DIRECT = { name: "glance-direct" };

/** An upload that never ends. */
async function* partialUpload(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("a half");
  await new Promise(() => {});
}

describe("an upload", () => {
  test("makes the image active, with sizes and digests of its data", async () => {
    const id = await world.image();
    expect((await upload(id, "0123456789")).status).toBe(204);
    const digest = (algorithm: string) => createHash(algorithm).update("0123456789").digest("hex");
    expect(await world.show(id)).toMatchObject({
      status: "active",
      size: 10,
      virtual_size: 10,
      checksum: digest("md5"),
      os_hash_algo: "sha512",
      os_hash_value: digest("sha512"),
    });
    const reply = await file(id);
    expect([reply.body, reply.headers["content-md5"], reply.headers["content-length"]]).toEqual([
      ...["0123456789", digest("md5"), "10"],
    ]);
  });

  test("of a qcow2 sets the virtual size", async () => {
    const id = await world.image({ disk_format: "qcow2" });
    const header = Buffer.alloc(64);
    header.write("QFI\xfb", "latin1");
    header.writeBigUInt64BE(1_073_741_824n, 24);
    await world.ask("PUT", `/v2/images/${id}/file`, { bytes: bytewise(header) });
    expect(await world.show(id)).toMatchObject({ size: 64, virtual_size: 1_073_741_824 });
  });

  test.each([
    [{ disk_format: null }, "Property disk_format must be set prior to saving data."],
    [{ disk_format: null, container_format: null }, "Properties disk_format, container_format must be set prior to"],
  ])("needs the formats: %j", async (body, message) => {
    const id = await world.image(body);
    const reply = await upload(id);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
    expect((await world.show(id)).status).toBe("queued");
  });

  test("is accepted once", async () => {
    const id = await world.uploadImage();
    const reply = await upload(id);
    expect([reply.status, reply.message]).toEqual([
      409,
      expect.stringContaining("Image status transition from active to saving is not allowed"),
    ]);
    expect((await file(id)).body).toBe("some bytes");
  });

  test("that is too large leaves the image queued and without data", async () => {
    const id = await world.image();
    expect((await upload(id, "x".repeat(1001))).status).toBe(413);
    expect(await world.show(id)).toMatchObject({ status: "queued", size: null });
    expect(await world.files()).not.toContain(id);
    expect((await file(id)).status).toBe(204);
  });

  test("with another content type is a 415", async () => {
    const id = await world.image();
    const headers = { "content-type": "text/plain" };
    expect((await world.ask("PUT", `/v2/images/${id}/file`, { headers, body: "x" })).status).toBe(415);
    expect((await world.ask("PUT", `/v2/images/${id}/stage`, { headers, body: "x" })).status).toBe(415);
  });

  test("to an image with data is a conflict, also to a base image", async () => {
    const reply = await upload(CIRROS, "x", "admin");
    expect([reply.status, reply.message]).toEqual([
      409,
      expect.stringContaining("Image status transition from active to saving is not allowed"),
    ]);
  });

  test("is for the owner only", async () => {
    const id = await world.image({ visibility: "community" });
    expect((await upload(id, "x", "alt")).status).toBe(403);
    expect((await stage(id, "x", "alt")).status).toBe(403);
  });
});

describe("a deactivated image", () => {
  test("can be downloaded by administrators only, until it is reactivated", async () => {
    const id = await world.uploadImage();
    const act = (action: string, as: Caller = "demo") =>
      world.ask("POST", `/v2/images/${id}/actions/${action}`, { as });
    expect((await act("deactivate", "reader")).status).toBe(403);
    expect([(await act("deactivate")).status, (await act("deactivate")).status]).toEqual([204, 204]);
    expect((await world.show(id)).status).toBe("deactivated");
    expect((await file(id)).message).toContain("The requested image has been deactivated.");
    expect((await file(id, "admin")).body).toBe("some bytes");
    world.restart();
    await upload(await world.image());
    expect((await file(id, "admin")).body).toBe("some bytes");
    expect([(await act("reactivate")).status, (await act("reactivate")).status]).toEqual([204, 204]);
    expect((await file(id)).body).toBe("some bytes");
  });

  test("must have been active", async () => {
    const id = await world.image();
    for (const action of ["deactivate", "reactivate"]) {
      const reply = await world.ask("POST", `/v2/images/${id}/actions/${action}`);
      expect([reply.status, reply.message]).toEqual([
        403,
        expect.stringContaining("image in status &#x27;queued&#x27;"),
      ]);
    }
  });
});

describe("an import from the staging area", () => {
  test("makes the image active with the staged data, and records a task", async () => {
    const id = await world.image();
    expect((await stage(id)).status).toBe(204);
    expect(await world.show(id)).toMatchObject({ status: "uploading", size: 10, checksum: null });
    expect((await file(id)).status).toBe(204);
    const reply = await bring(id, DIRECT, { all_stores: true });
    expect(reply.status).toBe(202);
    expect(await world.show(id)).toMatchObject({
      status: "active",
      size: 10,
      virtual_size: 10,
      checksum: createHash("md5").update("some bytes").digest("hex"),
      os_glance_importing_to_stores: "",
      os_glance_failed_import: "",
    });
    expect((await file(id)).body).toBe("some bytes");
    expect(await tasks(id)).toMatchObject([
      {
        type: "api_image_import",
        status: "success",
        image_id: id,
        owner: "demo",
        user_id: "user-demo",
        request_id: reply.headers["x-openstack-request-id"],
        input: { image_id: id, import_req: { method: DIRECT, all_stores: true }, backend: ["fast", "reliable"] },
        result: { image_id: id },
      },
    ]);
    expect(await world.files("/state/glance/staging")).toEqual([]);
  });

  test("works after a restart: staged data is saved", async () => {
    const id = await world.image();
    await stage(id);
    world.restart();
    await upload(await world.image());
    expect((await bring(id, DIRECT)).status).toBe(202);
    expect((await file(id)).body).toBe("some bytes");
  });

  test.each([
    [{ body: {} }, 400, "Import request requires a &#x27;method&#x27; field."],
    [{ body: { method: {} } }, 400, "Import request requires a &#x27;name&#x27; field."],
    [{ body: { method: { name: "bad" } } }, 400, "Unknown import method name &#x27;bad&#x27;."],
    [{ body: { method: { name: "web-download", uri: "http://x" } } }, 400, "fetches nothing from a network"],
    [{ body: { method: DIRECT, all_stores: 1 } }, 400, "&#x27;all_stores&#x27; must be boolean value only"],
    [{ body: { method: DIRECT, all_stores_must_succeed: 0 } }, 400, "must be boolean value only"],
    [{ body: { method: { name: "copy-image" } } }, 409, "Only images with status active can be targeted for copying"],
    [{ body: { method: DIRECT } }, 409, "Image needs to be staged before"],
    [{ body: { method: { name: "glance-download" } } }, 400, "&#x27;glance_region&#x27; needs to be set"],
  ])("is rejected: %j", async ({ body }, status, message) => {
    const id = await world.image();
    const reply = await world.ask("POST", `/v2/images/${id}/import`, { body });
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test("needs the formats, the owner, and an image that is staged once", async () => {
    const id = await world.image({ disk_format: null, visibility: "community" });
    await stage(id);
    expect((await stage(id)).message).toContain("from uploading to uploading is not allowed");
    expect((await upload(id)).message).toContain("from uploading to saving is not allowed");
    expect((await bring(id, DIRECT)).message).toContain("&#x27;disk_format&#x27; needs to be set before import");
    const other = await world.image({ visibility: "community" });
    await stage(other);
    const reply = await world.ask("POST", `/v2/images/${other}/import`, { as: "alt", body: { method: DIRECT } });
    expect(reply.status).toBe(403);
    expect((await bring(await world.uploadImage(), DIRECT)).message).toContain(
      "status active cannot be target for import",
    );
  });

  test("of a deleted image fails, and the staged data is removed", async () => {
    const id = await world.image();
    await stage(id);
    await world.ask("DELETE", `/v2/images/${id}`);
    await world.uploadImage();
    expect(await world.files("/state/glance/staging")).toEqual([]);
    expect((await bring(id, DIRECT)).status).toBe(404);
  });
});

describe("an import from an image of the same Glance", () => {
  const download = (glance_image_id: string, more: object = {}) => ({
    name: "glance-download",
    glance_image_id,
    glance_region: "RegionOne",
    ...more,
  });

  test("copies the data, the formats and boot properties", async () => {
    const source = await world.uploadImage({
      ...{ container_format: "ovf", disk_format: "iso", hw_cpu_cores: "5", "trait:X": "required", speed: "88mph" },
    });
    const id = await world.image({ hw_cpu_cores: "1", own: "kept" });
    expect((await bring(id, download(source))).status).toBe(202);
    const image = await world.show(id);
    expect(image).toMatchObject({ status: "active", container_format: "ovf", disk_format: "iso", own: "kept" });
    expect(image).toMatchObject({ hw_cpu_cores: "5", "trait:X": "required", size: 10 });
    expect(image).not.toHaveProperty("speed");
    expect((await file(id)).body).toBe("some bytes");
    expect((await file(source)).body).toBe("some bytes");
  });

  test.each([
    ["another region", { glance_region: "elsewhere" }, "No glance endpoint found for region elsewhere"],
    ["no interface", { glance_service_interface: "secret" }, "interface secret"],
    ["no such image", { glance_image_id: "11111111-1111-4111-8111-111111111111" }, "No image found with ID"],
    ["an image without bytes", { glance_image_id: CIRROS }, "has no bytes to import"],
  ])("%s: the task fails, and the image is queued again", async (_, more, message) => {
    const id = await world.image({ hw_cpu_cores: "1" });
    expect((await bring(id, download(CIRROS, more))).status).toBe(202);
    expect(await tasks(id)).toMatchObject([{ status: "failure", message: expect.stringContaining(message) }]);
    expect(await world.show(id)).toMatchObject({ status: "queued", hw_cpu_cores: "1" });
  });

  test("of another project's image or with an invalid id is rejected", async () => {
    const source = await world.uploadImage({ visibility: "private" }, "alt");
    const id = await world.image();
    await bring(id, download(source));
    expect(await tasks(id)).toMatchObject([{ status: "failure" }]);
    expect((await bring(id, download("foo"))).message).toContain("image id does not look like a UUID: foo");
  });
});

describe("a killed process", () => {
  test.each(["file", "stage"])("during an upload (%s) leaves the image queued and without data", async (path) => {
    const id = await world.image();
    expect(await world.respondsInTime("PUT", `/v2/images/${id}/${path}`, { bytes: partialUpload() })).toBe(false);
    expect((await world.show(id)).status).toBe(path === "file" ? "saving" : "uploading");
    world.restart();
    expect(await world.show(id)).toMatchObject({ status: "queued", size: null });
    expect((await upload(id, "anew")).status).toBe(204);
    expect((await file(id)).body).toBe("anew");
    const rest = ["/incoming", "/staging"].map((folder) => world.folder + folder);
    expect([await world.files(rest[0]), await world.files(rest[1])]).toEqual([[], []]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "after call %i of an import leaves a complete image or none",
    async (callCount) => {
      const id = await world.image();
      await stage(id);
      world.runtime.killAfter(callCount);
      const isDone = await world.respondsInTime("POST", `/v2/images/${id}/import`, { body: { method: DIRECT } });
      world.restart();
      const { status } = await world.show(id);
      expect(isDone ? ["active"] : ["active", "uploading", "queued"]).toContain(status);
      expect((await tasks(id)).every((task) => task.status !== "processing")).toBe(true);
      await upload(await world.image());
      expect((await file(id)).body).toBe(status === "active" ? "some bytes" : "");
    },
  );

  test("leaves no files without an image", async () => {
    await world.uploadImage();
    world.restart();
    await world.settle(world.runtime.files.write("/state/glance/11111111-1111-4111-8111-111111111111", "left"));
    await world.settle(world.runtime.files.write("/state/glance/staging/22222222-2222-4222-8222-222222222222", "left"));
    await world.settle(world.store.sweep());
    expect(await world.files()).toHaveLength(2);
    expect(await world.files("/state/glance/staging")).toEqual([]);
  });
});

async function* bytewise(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (const byte of bytes) {
    yield Uint8Array.of(byte);
  }
}
