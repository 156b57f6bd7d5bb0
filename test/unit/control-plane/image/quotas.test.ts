import { beforeEach, describe, expect, test } from "vitest";
import { ImageWorld } from "./image-world.js";

const MIB = 1024 ** 2;

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld();
});

async function* bytes(size = MIB): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(size);
}

async function* endless(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {});
}

function importStaged(id: string) {
  return world.ask("POST", `/v2/images/${id}/import`, { body: { method: { name: "glance-direct" } } });
}

const upload = (id: string) => world.ask("PUT", `/v2/images/${id}/file`, { bytes: bytes() });
const stage = (id: string) => world.ask("PUT", `/v2/images/${id}/stage`, { bytes: bytes() });
const create = (as: "demo" | "alt" = "demo") => world.ask("POST", "/v2/images", { as, body: { name: "one" } });

describe("limits of Identity", () => {
  test("image_count_total is per project, and a delete releases it", async () => {
    world.limits.image_count_total = 1;
    const id = String((await create()).json("id"));
    const rejection = await create();
    expect(rejection.status).toBe(413);
    expect(rejection.body).toContain(
      "Project demo is over a limit for [Resource image_count_total is over limit of 1 due to current usage 1 and delta 1]",
    );
    expect((await create("alt")).status).toBe(201);
    await world.ask("DELETE", `/v2/images/${id}`);
    expect((await create()).status).toBe(201);
  });

  test("image_size_total rejects uploads only after it is exceeded", async () => {
    world.limits.image_size_total = 1;
    const ids = [await world.image(), await world.image(), await world.image()] as const;
    expect((await upload(ids[0])).status).toBe(204);
    expect((await upload(ids[1])).status).toBe(204);
    expect((await upload(ids[2])).status).toBe(413);
    expect((await world.ask("GET", `/v2/images/${ids[2]}`)).json("status")).toBe("queued");
    world.limits.image_size_total = 2;
    expect((await upload(ids[2])).status).toBe(204);
  });

  test("image_stage_total counts staged data only", async () => {
    world.limits.image_stage_total = 0;
    const ids = [await world.image(), await world.image(), await world.image()] as const;
    expect((await stage(ids[0])).status).toBe(204);
    expect((await stage(ids[1])).status).toBe(413);
    expect((await upload(ids[2])).status).toBe(204);
    await importStaged(ids[0]);
    expect((await stage(ids[1])).status).toBe(204);
  });

  test("image_count_uploading limits concurrent uploads; a second upload of an image is a status conflict", async () => {
    world.limits.image_count_uploading = 1;
    const ids = [await world.image(), await world.image()] as const;
    expect((await stage(ids[0])).status).toBe(204);
    expect((await stage(ids[1])).status).toBe(413);
    expect((await upload(ids[1])).status).toBe(413);
    expect((await stage(ids[0])).status).toBe(409);
    await importStaged(ids[0]);
    expect((await upload(ids[1])).status).toBe(204);
  });

  test("an unfinished upload counts", async () => {
    world.limits.image_count_uploading = 1;
    const ids = [await world.image(), await world.image()] as const;
    expect(await world.respondsInTime("PUT", `/v2/images/${ids[0]}/file`, { bytes: endless() })).toBe(false);
    expect((await upload(ids[1])).status).toBe(413);
  });

  test("are returned with their usage, without unlimited resources", async () => {
    expect((await world.ask("GET", "/v2/info/usage")).json("usage")).toEqual({});
    world.limits.image_size_total = 5;
    await upload(await world.image());
    expect((await world.ask("GET", "/v2/info/usage")).json("usage")).toEqual({
      image_size_total: { usage: 1, limit: 5 },
    });
  });
});
