import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, type Reply } from "../../../unit/control-plane/compute/api-world.js";

const UNKNOWN = "5a000000-0000-4000-8000-000000000001";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

async function ask(method: string, path: string, body?: unknown, version = 1, token?: string): Promise<Reply> {
  const reply = await world.ask({ method, url: `/compute/v2.1${path}`, body, version, token });
  await world.runVolumeWork();
  return reply;
}

describe("os-volumes", () => {
  const VOLUME = { size: 1, display_name: "one", display_description: "first", metadata: { a: "b" } };

  test("creates, shows, lists and deletes volumes of Block Storage by Nova's names", async () => {
    const created = await ask("POST", "/os-volumes", { volume: VOLUME });
    expect(created.status, created.body).toBe(200);
    const id = String(created.json("volume", "id"));
    expect(created.headers.location).toBe(`http://127.0.0.1:8774/compute/v2.1/os-volumes/${id}`);
    const view = {
      ...{ id, size: 1, status: "available", availabilityZone: "nova", attachments: [{}], snapshotId: null },
      ...{ displayName: "one", displayDescription: "first", volumeType: "lvmdriver-1", metadata: { a: "b" } },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    };
    expect((await ask("GET", `/os-volumes/${id}`)).json()).toEqual({ volume: view });
    for (const path of ["/os-volumes", "/os-volumes/detail"]) {
      expect((await ask("GET", path)).json()).toEqual({ volumes: [view] });
    }
    expect((await ask("GET", "/os-volumes?offset=1")).json()).toEqual({ volumes: [] });
    expect((await ask("DELETE", `/os-volumes/${id}`)).status).toBe(202);
    expect((await ask("GET", "/os-volumes")).json()).toEqual({ volumes: [] });
  });

  test("shows the server that uses a volume", async () => {
    const id = await world.volume();
    const { volumes } = world.blockStorage;
    volumes.complete(volumes.reserve(id, UNKNOWN));
    const reply = await ask("GET", `/os-volumes/${id}`);
    expect(reply.json("volume", "attachments")).toEqual([{ id, volumeId: id, serverId: UNKNOWN }]);
  });

  test("passes on the errors of Block Storage", async () => {
    const missing = await ask("GET", `/os-volumes/${UNKNOWN}`);
    expect([missing.status, missing.message]).toEqual([404, `Volume ${UNKNOWN} could not be found.`]);
    const orphan = await ask("POST", "/os-snapshots", { snapshot: { volume_id: UNKNOWN } });
    expect([orphan.status, orphan.message]).toEqual([404, `Volume ${UNKNOWN} could not be found.`]);
    const size = { volume: { ...VOLUME, size: 2000 } };
    const large = await ask("POST", "/os-volumes", size);
    expect([large.status, large.message]).toEqual([403, expect.stringContaining("VolumeSizeExceedsAvailableQuota")]);
  });

  test("is gone since 2.36", async () => {
    expect((await ask("GET", "/os-volumes", undefined, 36)).status).toBe(404);
    expect((await ask("GET", "/os-snapshots", undefined, 36)).status).toBe(404);
  });
});

test("os-snapshots creates, shows, lists and deletes snapshots of Block Storage by Nova's names", async () => {
  const volumeId = await world.volume();
  const snapshot = { volume_id: volumeId, display_name: "one", display_description: "first", force: "True" };
  const created = await ask("POST", "/os-snapshots", { snapshot });
  expect(created.status, created.body).toBe(200);
  const id = String(created.json("snapshot", "id"));
  const view = {
    ...{ id, volumeId, size: 1, status: "available", displayName: "one", displayDescription: "first" },
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  };
  expect((await ask("GET", `/os-snapshots/${id}`)).json()).toEqual({ snapshot: view });
  expect((await ask("GET", "/os-snapshots/detail")).json()).toEqual({ snapshots: [view] });
  expect((await ask("DELETE", `/os-snapshots/${id}`)).status).toBe(202);
  const missing = await ask("GET", `/os-snapshots/${id}`);
  expect([missing.status, missing.message]).toEqual([404, `Snapshot ${id} could not be found.`]);
});

describe("os-assisted-volume-snapshots", () => {
  const INFO = { snapshot_id: UNKNOWN, type: "qcow2", new_file: "file", id: UNKNOWN };

  function withVolume(changes = {}): void {
    world.host("devstack1");
    const { uuid: instanceUuid } = world.server("devstack1", changes);
    const types = { sourceType: "volume", destinationType: "volume" } as const;
    world.store.blockDevices.create({ instanceUuid, volumeId: UNKNOWN, ...types });
  }

  const create = (token?: string) =>
    ask("POST", "/os-assisted-volume-snapshots", { snapshot: { volume_id: UNKNOWN, create_info: INFO } }, 1, token);

  const remove = (info: string) =>
    ask("DELETE", `/os-assisted-volume-snapshots/1?delete_info=${encodeURIComponent(info)}`);

  test("are accepted for the volume of a server", async () => {
    withVolume();
    expect((await create()).json()).toEqual({ snapshot: { id: UNKNOWN, volumeId: UNKNOWN } });
    expect((await remove(JSON.stringify({ volume_id: UNKNOWN }))).status).toBe(204);
  });

  test("are rejected for other volumes, during operations, and with invalid information", async () => {
    const missing = await create();
    expect([missing.status, missing.message]).toEqual([400, `No volume Block Device Mapping with id ${UNKNOWN}.`]);
    expect((await remove("{}")).message).toBe("'volume_id'");
    expect((await remove("{")).status).toBe(400);
    withVolume({ taskState: "rebooting", vmState: "stopped" });
    expect((await create()).message).toMatch(/in task_state rebooting\. Cannot do_volume_snapshot_create while/);
  });

  test("are for administrators and services", async () => {
    expect((await create(await world.token("demo"))).status).toBe(403);
  });
});
