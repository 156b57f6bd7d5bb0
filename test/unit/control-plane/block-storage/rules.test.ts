import { expect, test } from "vitest";
import { projectOf } from "../../../fixtures/cinder/cinder-callers.js";
import { BlockStorageHarness } from "./block-storage-harness.js";

const SERVER = "5e000000-0000-4000-8000-000000000001";
const OTHER_SERVER = "5e000000-0000-4000-8000-000000000002";
const CONNECTOR = { host: "devstack1", initiator: "iqn.1993-08.org.debian:01:1" };
const ADMIN = { caller: "demo-admin" };

test("a reset of the attach status removes all attachments", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  const attachment = { volume_uuid: volume, instance_uuid: SERVER, connector: CONNECTOR };
  await harness.get("POST", "/attachments", { attachment });
  const reset = { "os-reset_status": { status: "available", attach_status: "detached" } };
  expect((await harness.send("POST", `/volumes/${volume}/action`, reset, ADMIN)).status).toBe(202);
  expect((await harness.send("GET", "/attachments")).json("attachments")).toEqual([]);
  expect(await harness.statusOf(`/volumes/${volume}`)).toBe("available");
});

test("a status that does not exist, or deletes, cannot be set", async () => {
  const harness = new BlockStorageHarness();
  const volume = await harness.volume();
  const reset = (input: object) =>
    harness.rejection("POST", `/volumes/${volume}/action`, { "os-reset_status": input }, ADMIN);
  expect(await reset({ status: "deleting" })).toBe("400 Cannot reset-state to deleting");
  expect(await reset({ attach_status: "x" })).toBe(
    "400 Volume attach status: x is invalid, valid statuses are: ['attached', 'detached'].",
  );
  expect(await reset({})).toBe("400 Must specify 'status', 'attach_status' or 'migration_status' for update.");
});

test("a server that has a volume may reserve it again, another may not", async () => {
  const harness = new BlockStorageHarness();
  const volume_uuid = await harness.volume();
  const reserve = (instance_uuid: string) =>
    harness.send("POST", "/attachments", { attachment: { volume_uuid, instance_uuid } });
  expect((await reserve(SERVER)).status).toBe(200);
  expect((await reserve(SERVER)).status).toBe(200);
  expect((await reserve(OTHER_SERVER)).status).toBe(400);
});

test("a volume that is not multiattach has one connected attachment at most", async () => {
  const harness = new BlockStorageHarness();
  const volume_uuid = await harness.volume();
  const create = () => harness.get("POST", "/attachments", { attachment: { volume_uuid, instance_uuid: SERVER } });
  const [first, second] = [await create(), await create()];
  const update = (id: unknown) => harness.send("PUT", `/attachments/${id}`, { attachment: { connector: CONNECTOR } });
  expect((await update(first.id)).status).toBe(200);
  expect((await update(second.id)).message).toBe(
    `Unable to update attachment.(Invalid volume: duplicate connectors detected on volume ${volume_uuid}).`,
  );
});

test("one of several attachments is detached only by its id", async () => {
  const harness = new BlockStorageHarness();
  const type = { name: "shared", extra_specs: { multiattach: "<is> True" } };
  await harness.get("POST", "/types", { volume_type: type }, ADMIN);
  const volume = await harness.volume({ volume_type: "shared" });
  const act = (body: object, headers = {}) => harness.send("POST", `/volumes/${volume}/action`, body, { headers });
  for (const instance_uuid of [SERVER, OTHER_SERVER]) {
    await act({ "os-attach": { instance_uuid, mountpoint: "/dev/vdb" } });
  }
  const asCompute = { "x-service-token": "service" };
  expect((await act({ "os-detach": {} }, asCompute)).message).toBe(
    "Invalid volume: Detach volume failed: More than one attachment, but no attachment_id provided.",
  );
  const { attachments } = await harness.get("GET", `/volumes/${volume}`);
  const [{ attachment_id = "" } = {}] = attachments as { readonly attachment_id: string }[];
  expect((await act({ "os-detach": { attachment_id } }, asCompute)).status).toBe(202);
  expect(await harness.statusOf(`/volumes/${volume}`)).toBe("in-use");
});

test("a restored volume has the metadata of the backup's volume, and names the backup", async () => {
  const harness = new BlockStorageHarness();
  const volume_id = await harness.volume({ metadata: { purpose: "db" } });
  const { id } = await harness.get("POST", "/backups", { backup: { volume_id } });
  const restored = await harness.get("POST", `/backups/${id}/restore`, { restore: {} });
  const { metadata } = await harness.get("GET", `/volumes/${restored.volume_id}`);
  expect(metadata).toEqual({ purpose: "db", src_backup_id: id });
});

test("a type in use keeps its extra specs", async () => {
  const harness = new BlockStorageHarness();
  const { id } = await harness.get("POST", "/types", { volume_type: { name: "plain" } }, ADMIN);
  await harness.volume({ volume_type: "plain" });
  const change = { extra_specs: { "own:a": "1" } };
  expect(await harness.rejection("POST", `/types/${id}/extra_specs`, change, ADMIN)).toBe(
    "400 Volume Type is currently in use.",
  );
});

test("a group type that is not public is for administrators", async () => {
  const harness = new BlockStorageHarness();
  const { id } = await harness.get("POST", "/group_types", { group_type: { name: "own", is_public: false } }, ADMIN);
  expect(await harness.rejection("GET", `/group_types/${id}`)).toBe(`404 Group type ${id} could not be found.`);
  expect(JSON.stringify((await harness.send("GET", "/group_types")).json())).not.toContain(String(id));
  const all = await harness.send("GET", "/group_types?is_public=None", undefined, ADMIN);
  expect(JSON.stringify(all.json())).toContain(String(id));
});

test("an offer is accepted only while its volume waits for it", async () => {
  const harness = new BlockStorageHarness();
  const volume_id = await harness.volume();
  const { id, auth_key } = await harness.get("POST", "/volume-transfers", { transfer: { volume_id } });
  await harness.send("POST", `/volumes/${volume_id}/action`, { "os-reset_status": { status: "error" } }, ADMIN);
  const accept = () =>
    harness.rejection("POST", `/volume-transfers/${id}/accept`, { accept: { auth_key } }, { caller: "alt" });
  expect(await accept()).toBe(
    `400 Invalid volume: Transfer ${id}: Volume id ${volume_id} expected in awaiting-transfer state.`,
  );
});

test("an offer of a volume is rejected for projects that may not use the volume's type", async () => {
  const harness = new BlockStorageHarness();
  const hidden = { name: "own", "os-volume-type-access:is_public": false };
  const { id: typeId } = await harness.get("POST", "/types", { volume_type: hidden }, ADMIN);
  const volume_id = await harness.volume({ volume_type: "own" }, ADMIN);
  const { id, auth_key } = await harness.get("POST", "/volume-transfers", { transfer: { volume_id } }, ADMIN);
  const accept = { accept: { auth_key } };
  expect(await harness.rejection("POST", `/volume-transfers/${id}/accept`, accept, { caller: "alt" })).toBe(
    `404 Volume type ${typeId} could not be found.`,
  );
  expect(await harness.statusOf(`/volumes/${volume_id}`)).toBe("awaiting-transfer");
});

test("a volume larger than a project's limit is not accepted by this project", async () => {
  const harness = new BlockStorageHarness();
  const volume_id = await harness.volume({ size: 2 });
  const quota_set = { per_volume_gigabytes: 1 };
  await harness.get("PUT", `/os-quota-sets/${projectOf("alt")}`, { quota_set }, { caller: "admin" });
  const { id, auth_key } = await harness.get("POST", "/volume-transfers", { transfer: { volume_id } });
  const accept = { accept: { auth_key } };
  expect(await harness.rejection("POST", `/volume-transfers/${id}/accept`, accept, { caller: "alt" })).toBe(
    "413 VolumeSizeExceedsLimit: Requested volume size 2G is larger than maximum allowed limit 1G.",
  );
});

test("a volume that is unreserved while an attachment is left stays in use", async () => {
  const harness = new BlockStorageHarness();
  const volume_uuid = await harness.volume();
  const attachment = { volume_uuid, instance_uuid: SERVER, connector: CONNECTOR };
  await harness.get("POST", "/attachments", { attachment });
  await harness.send("POST", `/volumes/${volume_uuid}/action`, { "os-unreserve": {} });
  expect(await harness.statusOf(`/volumes/${volume_uuid}`)).toBe("in-use");
});

test("an unknown source of a new volume is reported before an unknown group", async () => {
  const harness = new BlockStorageHarness();
  const create = (volume: object) =>
    harness.rejection("POST", "/volumes", { volume: { volume_type: "lvmdriver-1", ...volume } });
  expect(await create({ group_id: OTHER_SERVER, source_volid: SERVER })).toBe(
    `404 Volume ${SERVER} could not be found.`,
  );
  expect(await create({ group_id: OTHER_SERVER, imageRef: SERVER })).toBe(
    `404 Group ${OTHER_SERVER} could not be found.`,
  );
});

test.each([
  ["GET", "/volumes?offset=-1", undefined, "offset must be >= 0"],
  ["GET", "/volumes?limit=x", undefined, "limit param must be an integer"],
  ["GET", "/volumes?created_at=x", undefined, "Invalid x operator"],
  ["GET", "/volumes?all_tenants=x", undefined, "Value 'x' for 'all_tenants' is not a boolean."],
  [
    "PUT",
    "/os-quota-class-sets/default",
    { quota_class_set: { x: 1 } },
    "Invalid input received: Bad key(s) in quota class set: x",
  ],
  [
    "POST",
    "/volumes",
    { volume: { size: "0" } },
    "Invalid input received: Invalid volume size provided for create request: 0 (size argument must be an integer (or string representation of an integer) and greater than zero).",
  ],
])("%s %s is rejected as by Cinder", async (method, path, body, message) => {
  const harness = new BlockStorageHarness();
  expect(await harness.rejection(method, path, body, ADMIN)).toBe(`400 ${message}`);
});

test("a path that ends with a slash has no route, as a record without an id", async () => {
  const harness = new BlockStorageHarness();
  expect((await harness.send("GET", "/volumes/")).status).toBe(404);
});

test("a back end that is no longer configured is down", async () => {
  const harness = new BlockStorageHarness();
  harness.store.database.execute(
    "UPDATE block_storage_services SET host = 'devstack@old' WHERE binary = 'cinder-volume'",
  );
  const services = await harness.send("GET", "/os-services?binary=cinder-volume", undefined, ADMIN);
  expect(services.json("services", 0)).toMatchObject({ host: "devstack@old", state: "down", backend_state: "down" });
});

test("a microversion of volumev3 is that of the service", async () => {
  const harness = new BlockStorageHarness();
  const headers = { "openstack-api-version": "compute 2.1, volumev3 3.44" };
  const reply = await harness.send("GET", "/attachments", undefined, { version: null, headers });
  expect([reply.status, reply.headers["openstack-api-version"]]).toEqual([200, "volume 3.44"]);
});

test("a volume grows only while its back end is there and has room", async () => {
  const backEnds = [{ name: "small", availabilityZone: "nova", capacity: 3 }];
  const harness = new BlockStorageHarness({ backEnds, maxOverSubscriptionRatio: 1 });
  const volume = await harness.volume();
  const grow = async (new_size: number) => {
    await harness.send("POST", `/volumes/${volume}/action`, { "os-extend": { new_size } });
    const { size, status } = await harness.get("GET", `/volumes/${volume}`);
    return [size, status];
  };
  expect(await grow(4)).toEqual([1, "available"]);
  expect((await harness.send("GET", "/messages")).json("messages", 0, "event_id")).toBe("VOLUME_VOLUME_007_003");
  expect(await grow(3)).toEqual([3, "available"]);
});

test("a volume without a back end is deleted at once", async () => {
  const harness = new BlockStorageHarness();
  harness.fault("volume.service=down");
  const volume = await harness.volume();
  harness.isPaused = true;
  await harness.send("DELETE", `/volumes/${volume}`);
  expect((await harness.send("GET", `/volumes/${volume}`)).status).toBe(404);
});

test("members delete a volume with its snapshots unless they belong to another project", async () => {
  const harness = new BlockStorageHarness();
  const volume_id = await harness.volume();
  await harness.get("POST", "/snapshots", { snapshot: { volume_id } }, { caller: "admin" });
  expect((await harness.send("DELETE", `/volumes/${volume_id}?cascade=true`)).status).toBe(400);
  expect((await harness.send("DELETE", `/volumes/${volume_id}?cascade=true`, undefined, ADMIN)).status).toBe(202);
  expect((await harness.send("GET", `/volumes/${volume_id}`)).status).toBe(404);
});

test("volumes that are being created, and requests that failed, count as they should in the quota", async () => {
  const harness = new BlockStorageHarness({ quotas: { volumes: 2, gigabytes: 3 } });
  harness.isPaused = true;
  const create = async (size: number) => (await harness.send("POST", "/volumes", { volume: { size } })).status;
  expect([await create(4), await create(1), await create(3), await create(2), await create(1)]).toEqual([
    413, 202, 413, 202, 413,
  ]);
});

test("a list that a filter empties does not look for its marker", async () => {
  const harness = new BlockStorageHarness();
  const volume_uuid = await harness.volume();
  await harness.get("POST", "/attachments", { attachment: { volume_uuid, instance_uuid: SERVER } });
  const list = async (query: string) => (await harness.send("GET", `/attachments?${query}`)).json("attachments");
  expect(await list("attach_status=reserved")).toHaveLength(1);
  expect(await list(`status=reserved&marker=${OTHER_SERVER}`)).toEqual([]);
  expect((await harness.send("GET", `/attachments?marker=${OTHER_SERVER}`)).status).toBe(404);
});
