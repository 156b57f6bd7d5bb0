import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS, ROOT } from "../../../unit/control-plane/compute/api-world.js";

const IMAGES = "/compute/v2.1/images";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

const ids = (images: unknown) => (images as readonly { readonly id: string }[]).map(({ id }) => id);

describe("Nova's image proxy", () => {
  test("returns a snapshot with its server and Nova's status", async () => {
    const server = world.server("devstack1");
    const image = world.image({
      name: "mine",
      minDisk: 1,
      properties: { instance_uuid: server.uuid, image_type: "snapshot", auto_disk_config: "True" },
    });
    const reply = await world.ask({ url: `${IMAGES}/${image}` });
    expect(reply.json("image")).toMatchObject({
      id: image,
      name: "mine",
      status: "ACTIVE",
      progress: 100,
      minDisk: 1,
      minRam: 0,
      metadata: { instance_uuid: server.uuid, image_type: "snapshot", auto_disk_config: "True" },
      "OS-DCF:diskConfig": "AUTO",
      "OS-EXT-IMG-SIZE:size": 0,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/),
      server: { id: server.uuid, links: expect.arrayContaining([]) },
    });
    const links = reply.json("image", "links") as readonly { readonly rel: string; readonly href: string }[];
    expect(links.map(({ rel, href }) => [rel, href])).toEqual([
      ["self", `${ROOT}/compute/v2.1/images/${image}`],
      ["bookmark", `${ROOT}/compute/images/${image}`],
      ["alternate", `${ROOT}/image/images/${image}`],
    ]);
  });

  test.each([
    ["name=mine", true],
    ["name=other", false],
    ["status=ACTIVE", true],
    ["status=SAVING", false],
    ["type=snapshot", true],
    ["property-image_type=snapshot", true],
    ["server=http://any.where/servers/5a000000-0000-4000-8000-000000000001", true],
    ["server=5a000000-0000-4000-8000-000000000002", false],
    ["changes-since=2000-01-01T00:00:00Z", true],
    ["changes-since=2999-01-01T00:00:00Z", false],
    ["unknown=1&name=mine", true],
  ])("?%s finds the image: %s", async (query, found) => {
    const properties = { image_type: "snapshot", instance_uuid: "5a000000-0000-4000-8000-000000000001" };
    const image = world.image({ name: "mine", properties });
    for (const path of [IMAGES, `${IMAGES}/detail`]) {
      const reply = await world.ask({ url: `${path}?${query}` });
      expect(reply.status, reply.body).toBe(200);
      expect(ids(reply.json("images")).includes(image)).toBe(found);
    }
  });

  test("links to the next page", async () => {
    const image = world.image({ name: "mine" });
    const first = await world.ask({ url: `${IMAGES}?limit=1` });
    expect(first.json("images_links", 0, "href")).toBe(`${ROOT}/compute/v2.1/images?limit=1&marker=${image}`);
    const second = await world.ask({ url: `${IMAGES}?limit=1&marker=${image}` });
    expect([ids(first.json("images")), ids(second.json("images"))]).toEqual([[image], [CIRROS]]);
  });

  test("reads, replaces, adds and removes properties as metadata", async () => {
    const image = world.image({ owner: world.projectId("admin"), properties: { a: "1", b: "2", "d~/e": "4" } });
    const url = `${IMAGES}/${image}/metadata`;
    await world.ask({ method: "PUT", url: `${url}/c`, body: { meta: { c: "3" } } });
    await world.ask({ method: "DELETE", url: `${url}/a` });
    expect((await world.ask({ url })).json()).toEqual({ metadata: { b: "2", c: "3", "d~/e": "4" } });
    const added = await world.ask({ method: "POST", url, body: { metadata: { b: "9" } } });
    expect(added.json()).toEqual({ metadata: { b: "9", c: "3", "d~/e": "4" } });
    expect((await world.ask({ method: "PUT", url, body: { metadata: { f: "5" } } })).json()).toEqual({
      metadata: { f: "5" },
    });
    expect((await world.ask({ url: `${url}/f` })).json()).toEqual({ meta: { f: "5" } });
    expect((await world.ask({ url: `${url}/a` })).status).toBe(404);
    expect((await world.ask({ method: "DELETE", url: `${url}/a` })).status).toBe(404);
    expect((await world.ask({ method: "PUT", url: `${url}/g`, body: { meta: { f: "5" } } })).status).toBe(400);
  });

  test("leaves authorization to the Image API", async () => {
    const image = world.image({ owner: world.projectId("admin") });
    const token = await world.token("demo");
    const url = `${IMAGES}/${image}`;
    expect((await world.ask({ url, token })).status).toBe(200);
    expect((await world.ask({ method: "DELETE", url, token })).status).toBe(403);
    const rejection = await world.ask({
      method: "POST",
      url: `${url}/metadata`,
      body: { metadata: { a: "1" } },
      token,
    });
    expect(rejection.status).toBe(403);
    expect((await world.ask({ method: "DELETE", url })).status).toBe(204);
    const gone = await world.ask({ url });
    expect([gone.status, gone.message]).toEqual([404, "Image not found."]);
    const secret = world.image({ owner: world.projectId("admin"), visibility: "private" });
    expect((await world.ask({ url: `${IMAGES}/${secret}`, token })).status).toBe(404);
  });

  test("does not exist since 2.36, and for metadata since 2.39", async () => {
    const url = `${IMAGES}/${CIRROS}`;
    const statuses = async (version: number) => [
      (await world.ask({ url: IMAGES, version })).status,
      (await world.ask({ url, version })).status,
      (await world.ask({ url: `${url}/metadata`, version })).status,
    ];
    expect([await statuses(35), await statuses(36), await statuses(39)]).toEqual([
      [200, 200, 200],
      [404, 404, 200],
      [404, 404, 404],
    ]);
  });
});
