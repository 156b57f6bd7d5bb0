import { createHash } from "node:crypto";
import { expect } from "vitest";
import {
  type ContractCase,
  createImageWithData,
  expectFault,
  expectStatus,
  type GlanceService,
  newImage,
  patchOf,
} from "./client.js";

const DIRECT = { body: { method: { name: "glance-direct" } } };

/** Waits until an image has this status, and returns its attributes. */
async function until(client: GlanceService, id: string, status: string) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const image = await expectStatus(client, 200, ["demo", "GET", `/v2/images/${id}`]);
    if (image.status === status) {
      return image;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`image ${id} does not become ${status}`);
}

export const DATA_CASES: readonly ContractCase[] = [
  {
    name: "bytes are taken once, and come back as they were",
    run: async (client) => {
      const id = await newImage(client, "demo");
      const path = `/v2/images/${id}/file`;
      await expectStatus(client, 204, ["demo", "GET", path]);
      await expectStatus(client, 204, ["demo", "PUT", path], { bytes: "some bytes" });
      expect(await until(client, id, "active")).toMatchObject({
        size: 10,
        virtual_size: 10,
        checksum: createHash("md5").update("some bytes").digest("hex"),
        os_hash_algo: "sha512",
        os_hash_value: createHash("sha512").update("some bytes").digest("hex"),
      });
      expect((await client.send({ who: "demo", method: "GET", path })).text).toBe("some bytes");
      const words = "Image status transition from active to saving is not allowed";
      await expectFault(client, 409, words, ["demo", "PUT", path], { bytes: "other" });
      const change = patchOf([{ op: "replace", path: "/disk_format", value: "qcow2" }]);
      const rejection = "Attribute disk_format can be only replaced for a queued image.";
      await expectFault(client, 403, rejection, ["demo", "PATCH", `/v2/images/${id}`], change);
    },
  },
  {
    name: "bytes need formats, and their content type",
    run: async (client) => {
      const id = await newImage(client, "demo", { disk_format: null, container_format: null });
      const request = ["demo", "PUT", `/v2/images/${id}/file`] as const;
      const words = "Properties disk_format, container_format must be set prior to saving data.";
      await expectFault(client, 400, words, request, { bytes: "x" });
      await expectStatus(client, 415, request, { body: "x", headers: { "content-type": "text/plain" } });
    },
  },
  {
    name: "a deactivated image keeps its bytes to administrators",
    run: async (client) => {
      const id = await createImageWithData(client, "demo");
      const path = `/v2/images/${id}`;
      await expectStatus(client, 204, ["demo", "POST", `${path}/actions/deactivate`]);
      await expectStatus(client, 204, ["demo", "POST", `${path}/actions/deactivate`]);
      await expectFault(client, 403, "The requested image has been deactivated.", ["demo", "GET", `${path}/file`]);
      await expectStatus(client, 200, ["admin", "GET", `${path}/file`]);
      await expectStatus(client, 204, ["demo", "POST", `${path}/actions/reactivate`]);
      await expectStatus(client, 200, ["demo", "GET", `${path}/file`]);
      const queued = `/v2/images/${await newImage(client, "demo")}/actions/deactivate`;
      await expectFault(client, 403, "Not allowed to deactivate image in status 'queued'", ["demo", "POST", queued]);
    },
  },
  {
    name: "what is staged is imported, and a task says so",
    run: async (client) => {
      const id = await newImage(client, "demo");
      const path = `/v2/images/${id}`;
      const early = "Image needs to be staged before 'glance-direct' method can be used";
      await expectFault(client, 409, early, ["demo", "POST", `${path}/import`], DIRECT);
      await expectStatus(client, 204, ["demo", "PUT", `${path}/stage`], { bytes: "some bytes" });
      expect(await until(client, id, "uploading")).toMatchObject({ size: 10, virtual_size: null, checksum: null });
      const twice = "Image status transition from uploading to uploading is not allowed";
      await expectFault(client, 409, twice, ["demo", "PUT", `${path}/stage`], { bytes: "x" });
      const other = "Image status transition from uploading to saving is not allowed";
      await expectFault(client, 409, other, ["demo", "PUT", `${path}/file`], { bytes: "x" });
      await expectStatus(client, 202, ["demo", "POST", `${path}/import`], DIRECT);
      expect(await until(client, id, "active")).toMatchObject({ size: 10, virtual_size: 10 });
      const late = "Image with status active cannot be target for import";
      await expectFault(client, 409, late, ["demo", "POST", `${path}/import`], DIRECT);
      const { tasks } = await expectStatus(client, 200, ["demo", "GET", `${path}/tasks`]);
      expect(tasks).toMatchObject([
        {
          type: "api_image_import",
          owner: client.projects.demo,
          image_id: id,
          deleted: false,
          deleted_at: null,
          input: { image_id: id, import_req: DIRECT.body },
        },
      ]);
    },
  },
  {
    name: "an import that cannot be is refused, with words that say why",
    run: async (client) => {
      const request = ["demo", "POST", `/v2/images/${await newImage(client, "demo")}/import`] as const;
      const expectRejection = (status: number, words: string, body: unknown) =>
        expectFault(client, status, words, request, { body });
      await expectRejection(400, "Import request requires a 'method' field.", {});
      await expectRejection(400, "Import request requires a 'name' field.", { method: {} });
      await expectRejection(400, "Unknown import method name 'bad'.", { method: { name: "bad" } });
      await expectRejection(400, "'all_stores' must be boolean value only", { ...DIRECT.body, all_stores: 1 });
      await expectRejection(409, "Only images with status active can be targeted for copying", {
        method: { name: "copy-image" },
      });
    },
  },
];
