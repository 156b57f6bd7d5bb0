import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let server: Instance;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  server = world.server("devstack1");
});

interface BackupRequest {
  readonly name?: unknown;
  readonly backup_type?: unknown;
  readonly rotation?: unknown;
  readonly metadata?: object;
}

function backup(request: BackupRequest = {}, { version = 45, token }: { version?: number; token?: string } = {}) {
  const createBackup = { name: "copy", backup_type: "daily", rotation: 2, ...request };
  return world.act(server, { createBackup }, version, token);
}

/** Uploads the image's data, as an agent does. */
async function finish(id: string): Promise<void> {
  const headers = { "content-type": "application/octet-stream" };
  const url = `/image/v2/images/${id}/file`;
  const reply = await world.world.runUntil(world.ask({ method: "PUT", url, headers, body: "" }));
  expect(reply.status).toBe(204);
  world.store.instances.save(server.uuid, { taskState: null });
}

/** Creates a backup, uploads its data, and returns its id. */
async function made(request: BackupRequest = {}): Promise<string> {
  const id = String((await backup(request)).json("image_id"));
  await finish(id);
  return id;
}

async function names(): Promise<readonly string[]> {
  const reply = await world.ask({ url: "/image/v2/images?image_type=backup&sort=created_at:asc" });
  return (reply.json("images") as { readonly name: string }[]).map(({ name }) => name).toSorted();
}

const show = async (id: string) => (await world.ask({ url: `/image/v2/images/${id}` })).json();

describe("a backup", () => {
  test("is a snapshot whose image has the backup's properties", async () => {
    const reply = await backup({ metadata: { why: "test", backup_type: "mine" } });
    const imageId = String(reply.json("image_id"));
    expect(reply.status).toBe(202);
    expect(await show(imageId)).toMatchObject({
      name: "copy",
      status: "queued",
      visibility: "private",
      owner: server.projectId,
      base_image_ref: CIRROS,
      instance_uuid: server.uuid,
      image_type: "backup",
      backup_type: "daily",
      why: "test",
    });
    expect(world.casts).toMatchObject([
      { host: "devstack1", method: "snapshot_instance", params: { instanceUuid: server.uuid, imageId } },
    ]);
    expect(world.store.instances.get(server.uuid)?.taskState).toBe("image_snapshot_pending");
    const again = await backup();
    expect([again.status, again.message]).toEqual([
      409,
      `Cannot 'createBackup' instance ${server.uuid} while it is in task_state image_snapshot_pending`,
    ]);
    const actions = await world.ask({ url: `/compute/v2.1/servers/${server.uuid}/os-instance-actions` });
    expect(actions.json("instanceActions", 0)).toMatchObject({ action: "createBackup" });
  });

  test("before 2.45 is returned as a location", async () => {
    const reply = await backup({ rotation: "1" }, { version: 44 });
    const images = await world.ask({ url: "/image/v2/images?image_type=backup" });
    const id = images.json("images", 0, "id");
    expect([reply.status, reply.body]).toEqual([202, ""]);
    expect(reply.headers.location).toBe(`http://127.0.0.1:8774/compute/v2.1/images/${String(id)}`);
  });

  test.each(["stopped", "paused", "suspended"] as const)(
    "is allowed for a server that is %s, also if it is locked",
    async (vmState) => {
      server = world.server("devstack1", { vmState, locked: true, projectId: world.projectId("demo") });
      expect((await backup({}, { token: await world.token("demo") })).status).toBe(202);
    },
  );

  test("is rejected in other states, without a disk, and for servers that the user does not see", async () => {
    world.store.instances.save(server.uuid, { vmState: "rescued" });
    expect((await backup()).status).toBe(409);
    world.store.instances.save(server.uuid, { vmState: "active", imageRef: "" });
    const reply = await backup();
    expect([reply.status, reply.message]).toEqual([400, "Backup is not supported for volume-backed instances."]);
    expect((await backup({}, { token: await world.token("demo") })).status).toBe(404);
    expect(world.casts).toEqual([]);
  });

  test.each([
    { rotation: -1 },
    { rotation: "-1" },
    { rotation: 1.5 },
    { rotation: null },
    { name: "" },
    { name: undefined },
    { backup_type: 1 },
    { backup_type: undefined },
    { metadata: { a: 1 } },
    { more: 1 },
  ])("rejects %j", async (request) => {
    expect((await backup(request)).status).toBe(400);
  });

  test("has as many metadata items as the quota allows, until 2.38", async () => {
    world.quota.defaults.metadata_items = 1;
    const metadata = { one: "1", two: "2" };
    expect((await backup({ metadata }, { version: 38 })).status).toBe(403);
    expect((await backup({ metadata }, { version: 39 })).status).toBe(202);
  });
});

describe("the rotation", () => {
  test("removes the oldest backups when the new one is uploaded", async () => {
    await made({ name: "one" });
    await made({ name: "two" });
    const third = String((await backup({ name: "three" })).json("image_id"));
    expect(await names()).toEqual(["one", "three", "two"]);
    await finish(third);
    expect(await names()).toEqual(["three", "two"]);
    await made({ name: "four", rotation: "9".repeat(400) });
    expect(await names()).toEqual(["four", "three", "two"]);
  });

  test("is separate for each type and server, and keeps snapshots", async () => {
    await made({ name: "weekly", backup_type: "weekly" });
    await made({ name: "daily" });
    const first = server;
    server = world.server("devstack1");
    await made({ name: "another's" });
    server = first;
    await world.act(server, { createImage: { name: "snapshot", metadata: { backup_type: "daily" } } }, 45);
    world.store.instances.save(server.uuid, { taskState: null });
    await made({ name: "new", rotation: 1 });
    expect(await names()).toEqual(["another's", "new", "weekly"]);
    expect((await world.ask({ url: "/image/v2/images?name=snapshot" })).json("images")).toHaveLength(1);
  });

  test("counts protected backups but does not remove them", async () => {
    const id = await made({ name: "kept" });
    await world.ask({
      method: "PATCH",
      url: `/image/v2/images/${id}`,
      headers: { "content-type": "application/openstack-images-v2.1-json-patch" },
      body: [{ op: "replace", path: "/protected", value: true }],
    });
    await made({ name: "two" });
    await made({ name: "three" });
    expect(await names()).toEqual(["kept", "three", "two"]);
  });

  test("of 0 removes all backups at once and creates none", async () => {
    await made({ name: "one" });
    await made({ name: "weekly", backup_type: "weekly" });
    const casts = world.casts.length;
    const reply = await backup({ rotation: 0 }, { version: 44 });
    const [action] = world.store.actions.list(server.uuid);
    expect(action).toMatchObject({ action: "createBackup", message: null, finishTime: expect.any(Number) });
    expect([reply.status, reply.body, reply.headers.location]).toEqual([202, "", undefined]);
    expect(await names()).toEqual(["weekly"]);
    expect(world.casts).toHaveLength(casts);
    const again = await backup({ rotation: "00" });
    expect(again.status).toBe(202);
    expect((await world.ask({ url: `/image/v2/images/${String(again.json("image_id"))}` })).status).toBe(404);
  });
});
