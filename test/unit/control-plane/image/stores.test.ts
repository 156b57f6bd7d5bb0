import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { ImageWorld, parts } from "./image-world.js";

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld();
});

const stores = async (id: string) => (await world.show(id)).stores;
function bring(id: string, body: object, as: Caller = "admin", headers: Readonly<Record<string, string>> = {}) {
  return world.ask("POST", `/v2/images/${id}/import`, { as, body, headers });
}

const COPY = { method: { name: "copy-image" } };

describe("the stores of an image", () => {
  test("are empty without data, and the default store with data", async () => {
    const id = await world.image();
    expect(await stores(id)).toBeUndefined();
    expect(await stores(await world.uploadImage())).toBe("fast");
  });

  test("are the one that an upload names", async () => {
    const id = await world.image();
    const put = (store: string) =>
      world.ask("PUT", `/v2/images/${id}/file`, { bytes: parts("x"), headers: { "x-image-meta-store": store } });
    expect((await put("nowhere")).status).toBe(400);
    expect((await put("reliable")).status).toBe(204);
    expect(await stores(id)).toBe("reliable");
  });

  test.each([
    [{}, "fast"],
    [{ all_stores: true }, "fast,reliable"],
    [{ stores: ["reliable", "fast"] }, "fast,reliable"],
    [{ stores: ["reliable"], all_stores_must_succeed: false }, "reliable"],
  ])("are those that an import names: %j", async (body, expected) => {
    const id = await world.image();
    await world.ask("PUT", `/v2/images/${id}/stage`, { bytes: parts("x") });
    expect((await bring(id, { method: { name: "glance-direct" }, ...body }, "demo")).status).toBe(202);
    expect(await stores(id)).toBe(expected);
  });

  test.each([
    [{ stores: ["nowhere"] }, {}, 409],
    [{ stores: "fast" }, {}, 400],
    [{ stores: ["fast"], all_stores: true }, {}, 400],
    [{ all_stores: true }, { "x-image-meta-store": "fast" }, 400],
    [{ stores: ["fast"] }, { "x-image-meta-store": "fast" }, 400],
  ])("are rejected: %j with header %j", async (body, headers, status) => {
    const id = await world.image();
    await world.ask("PUT", `/v2/images/${id}/stage`, { bytes: parts("x") });
    expect((await bring(id, { method: { name: "glance-direct" }, ...body }, "demo", headers)).status).toBe(status);
    expect((await world.show(id)).status).toBe("uploading");
  });

  test("increase by a copy, for administrators only, and decrease to one", async () => {
    const id = await world.uploadImage();
    expect((await bring(id, { ...COPY, all_stores: true }, "demo")).status).toBe(403);
    expect((await bring(id, { ...COPY, stores: ["fast"] })).message).toContain("already present at store");
    expect((await bring(id, { ...COPY, all_stores: true, all_stores_must_succeed: false })).status).toBe(202);
    expect(await world.show(id)).toMatchObject({ stores: "fast,reliable", os_glance_importing_to_stores: "" });
    const remove = (store: string, as: Caller = "demo") => world.ask("DELETE", `/v2/stores/${store}/${id}`, { as });
    expect((await remove("nowhere")).status).toBe(409);
    expect((await remove("fast", "alt")).status).toBe(404);
    expect((await remove("fast")).status).toBe(204);
    expect((await remove("fast")).status).toBe(404);
    expect((await remove("reliable")).status).toBe(403);
    expect((await world.ask("GET", `/v2/images/${id}/file`)).body).toBe("some bytes");
  });

  test("cannot be removed from an image without data", async () => {
    expect((await world.ask("DELETE", `/v2/stores/fast/${await world.image()}`)).status).toBe(409);
  });
});
