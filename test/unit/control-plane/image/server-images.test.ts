import { beforeEach, describe, expect, test } from "vitest";
import { ImageTable, MemberTable } from "../../../../src/control-plane/image/image-tables.js";
import { ApiWorld, CIRROS } from "../compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor({ memoryMb: 512, rootGb: 1 });
});

async function create(imageRef: string, user: "admin" | "demo" = "admin") {
  const server = { name: "vm", imageRef, flavorRef: "1", networks: "none" };
  const url = "/compute/v2.1/servers";
  return world.ask({ method: "POST", url, body: { server }, version: 37, token: await world.token(user) });
}

function act(uuid: string, body: object) {
  return world.ask({ method: "POST", url: `/compute/v2.1/servers/${uuid}/action`, body });
}

const table = () => new ImageTable(world.store.database, world.runtime.clock);

describe("a server created from an image", () => {
  test.each([
    [{ minRam: 513 }, "Flavor's memory is too small for requested image."],
    [
      { minDisk: 2 },
      "Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is 1073741824 bytes, minimum size is 2147483648 bytes.",
    ],
  ])("needs a flavor that meets the image's requirements: %j", async (attributes, message) => {
    const reply = await create(world.image(attributes));
    expect([reply.status, reply.message]).toEqual([400, message]);
    expect((await create(world.image({ minRam: 512, minDisk: 1 }))).status).toBe(202);
  });

  test("needs a root disk as large as the data", async () => {
    const id = world.image();
    table().change(id, ["active"], { size: 1024 ** 3 + 1 });
    expect((await create(id)).message).toBe(
      "Flavor's disk is too small for requested image. Flavor disk is 1073741824 bytes, image is 1073741825 bytes.",
    );
  });

  test("needs an active image that the user may see", async () => {
    const id = world.image({ visibility: "shared", owner: "somebody" });
    expect((await create(id, "demo")).message).toBe("Can not find requested image");
    new MemberTable(world.store.database, world.runtime.clock).add(id, world.projectId("demo"));
    expect((await create(id, "demo")).status).toBe(202);
    table().change(id, ["active"], { status: "deactivated" });
    expect((await create(id, "demo")).message).toBe(`Image ${id} is not active.`);
  });

  test("saves the image's properties, without those that the Image service sets", async () => {
    const id = world.image({ properties: { hw_disk_bus: "scsi", "trait:CUSTOM_GPU": "required" } });
    table().change(id, ["active"], { internal: { os_glance_failed_import: "" } });
    await create(id);
    const [request] = world.store.database.all("SELECT * FROM build_requests").map(String);
    expect(request).toContain("hw_disk_bus");
    expect(request).toContain("trait:CUSTOM_GPU");
    expect(request).not.toContain("os_glance");
  });
});

describe("a server with an image", () => {
  test("is rebuilt from an image that fits its flavor, and resized to a flavor that fits its image", async () => {
    world.host("devstack1");
    const flavor = world.store.flavors.getByFlavorid("1") ?? world.flavor();
    const noted = { image_min_ram: "256", image_min_disk: "1" };
    const { uuid } = world.server("devstack1", { flavor, systemMetadata: noted });
    world.flavor({ flavorid: "2", name: "small", memoryMb: 128, rootGb: 1 });
    expect((await act(uuid, { resize: { flavorRef: "2" } })).message).toBe(
      "Flavor's memory is too small for requested image.",
    );
    expect((await act(uuid, { rebuild: { imageRef: world.image({ minRam: 1024 }) } })).message).toBe(
      "Flavor's memory is too small for requested image.",
    );
    expect((await act(uuid, { rebuild: { imageRef: CIRROS } })).status).toBe(202);
  });

  test("creates snapshots with its image's minimum requirements", async () => {
    world.host("devstack1");
    const { uuid } = world.server("devstack1", { systemMetadata: { image_min_ram: "256" } });
    await act(uuid, { createImage: { name: "copy" } });
    expect((await world.ask({ url: "/image/v2/images?name=copy" })).json("images", 0)).toMatchObject({ min_ram: 256 });
  });
});
