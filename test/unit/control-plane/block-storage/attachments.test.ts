import { expect, test } from "vitest";
import { BlockStorageHarness } from "./block-storage-harness.js";

const SERVER = "5e000000-0000-4000-8000-000000000001";
const OTHER_SERVER = "5e000000-0000-4000-8000-000000000002";
const CONNECTOR = { host: "devstack1", initiator: "iqn.1993-08.org.debian:01:1" };

async function attach(harness: BlockStorageHarness, volume_uuid: string, instance_uuid = SERVER): Promise<string> {
  const attachment = { volume_uuid, instance_uuid, connector: CONNECTOR };
  const { id } = await harness.get("POST", "/attachments", { attachment });
  await harness.send("POST", `/attachments/${id}/action`, { "os-complete": {} });
  return String(id);
}

test("a volume follows its attachment from reserved to available", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  const status = () => harness.statusOf(`/volumes/${volume}`);
  const attachment = { volume_uuid: volume, instance_uuid: SERVER };
  const { id } = await harness.get("POST", "/attachments", { attachment });
  expect(await status()).toBe("reserved");
  await harness.get("PUT", `/attachments/${id}`, { attachment: { connector: CONNECTOR } });
  expect(await status()).toBe("attaching");
  await harness.send("POST", `/attachments/${id}/action`, { "os-complete": {} });
  expect(await status()).toBe("in-use");
  await harness.send("DELETE", `/attachments/${id}`);
  expect(await status()).toBe("available");
});

test("a volume of two servers is in use until the last attachment is gone", async () => {
  const harness = new BlockStorageHarness();
  const type = { name: "shared", extra_specs: { multiattach: "<is> True" } };
  await harness.get("POST", "/types", { volume_type: type }, { caller: "admin" });
  const volume = await harness.volume({ volume_type: "shared" });
  const first = await attach(harness, volume);
  const second = await attach(harness, volume, OTHER_SERVER);
  await harness.send("DELETE", `/attachments/${first}`);
  expect(await harness.statusOf(`/volumes/${volume}`)).toBe("in-use");
  await harness.send("DELETE", `/attachments/${second}`);
  expect(await harness.statusOf(`/volumes/${volume}`)).toBe("available");
});

test("only Compute may detach a volume that a server uses", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  const id = await attach(harness, volume);
  harness.attachedServers.set(SERVER, id);
  const text = `409 ConflictNovaUsingAttachment: Detach volume from instance ${SERVER} using the Compute API`;
  expect(await harness.rejection("DELETE", `/attachments/${id}`)).toBe(text);
  expect(await harness.rejection("POST", `/volumes/${volume}/action`, { "os-detach": {} })).toBe(text);
  const asUser = { headers: { "x-service-token": "member" } };
  expect(await harness.rejection("DELETE", `/attachments/${id}`, undefined, asUser)).toBe(text);
  const asCompute = { headers: { "x-service-token": "service" } };
  expect((await harness.send("DELETE", `/attachments/${id}`, undefined, asCompute)).status).toBe(200);
});

test("a fault at volume.attach fails the request, and the volume stays available", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  harness.fault("volume.attach=fail:once");
  const attachment = { volume_uuid: volume, instance_uuid: SERVER };
  expect((await harness.send("POST", "/attachments", { attachment })).status).toBe(500);
  expect(await harness.statusOf(`/volumes/${volume}`)).toBe("available");
});

test("servers are notified of their extended volumes, and of reserved ones with new data", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  await attach(harness, volume);
  await harness.send("POST", `/volumes/${volume}/action`, { "os-extend": { new_size: 2 } });
  expect(harness.events).toEqual([`volume-extended ${volume} ${SERVER}`]);
  const reserved = await harness.volume();
  await harness.get("POST", "/attachments", { attachment: { volume_uuid: reserved, instance_uuid: SERVER } });
  const image = "1a000000-0000-4000-8000-000000000001";
  harness.images.put(image);
  const reimage = { image_id: image, reimage_reserved: true };
  const reply = await harness.send(
    "POST",
    `/volumes/${reserved}/action`,
    { "os-reimage": reimage },
    { caller: "admin" },
  );
  expect(reply.status, reply.body).toBe(202);
  expect(harness.events.at(-1)).toBe(`volume-reimaged ${reserved} ${SERVER}`);
  expect(await harness.statusOf(`/volumes/${reserved}`)).toBe("reserved");
});
