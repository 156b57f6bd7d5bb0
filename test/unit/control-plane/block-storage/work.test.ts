import { expect, test } from "vitest";
import { BlockStorageHarness } from "./block-storage-harness.js";

test("a volume is creating until its work is done", async () => {
  const harness = new BlockStorageHarness();
  harness.isPaused = true;
  const id = await harness.volume();
  expect(await harness.statusOf(`/volumes/${id}`)).toBe("creating");
  await harness.runWork();
  expect(await harness.statusOf(`/volumes/${id}`)).toBe("available");
});

test("work that runs again after a kill changes nothing", async () => {
  const harness = new BlockStorageHarness();
  const id = await harness.volume();
  await harness.send("POST", `/volumes/${id}/action`, { "os-extend": { new_size: 3 } });
  const before = await harness.get("GET", `/volumes/${id}`);
  await harness.repeatWork();
  expect(await harness.get("GET", `/volumes/${id}`)).toEqual(before);
});

test.each([
  ["volume.extend", { "os-extend": { new_size: 2 } }, "error_extending"],
  ["volume.retype", { "os-retype": { new_type: "__DEFAULT__" } }, "available"],
  ["volume.upload", { "os-volume_upload_image": { image_name: "i" } }, "available"],
])("a fault at %s leaves the volume as Cinder does", async (point, action, status) => {
  const harness = new BlockStorageHarness();
  const id = await harness.volume();
  harness.fault(`${point}=fail:once`);
  expect((await harness.send("POST", `/volumes/${id}/action`, action)).status).toBe(202);
  expect(await harness.statusOf(`/volumes/${id}`)).toBe(status);
});

test("a failed creation leaves a message, and a failed deletion the volume", async () => {
  const harness = new BlockStorageHarness();
  harness.fault("volume.create=fail:once");
  const failed = await harness.volume();
  expect(await harness.statusOf(`/volumes/${failed}`)).toBe("error");
  expect((await harness.send("GET", "/messages")).json("messages", 0)).toMatchObject({
    event_id: "VOLUME_VOLUME_001_001",
    resource_uuid: failed,
  });
  harness.fault("volume.delete=fail:once");
  await harness.send("DELETE", `/volumes/${failed}`);
  expect(await harness.statusOf(`/volumes/${failed}`)).toBe("error_deleting");
});

test("a fault of snapshots and backups leaves them in error and their volume available", async () => {
  const harness = new BlockStorageHarness();
  const volume_id = await harness.volume();
  harness.fault("snapshot.create=fail:once");
  const snapshot = await harness.get("POST", "/snapshots", { snapshot: { volume_id } });
  expect(await harness.statusOf(`/snapshots/${snapshot.id}`)).toBe("error");
  harness.fault("backup.create=fail:once");
  const backup = await harness.get("POST", "/backups", { backup: { volume_id } });
  expect(await harness.statusOf(`/backups/${backup.id}`)).toBe("error");
  expect(await harness.statusOf(`/volumes/${volume_id}`)).toBe("available");
});

test("no volume is created while the volume services are down", async () => {
  const harness = new BlockStorageHarness();
  harness.fault("volume.service=down");
  const id = await harness.volume();
  expect(await harness.statusOf(`/volumes/${id}`)).toBe("error");
  const zones = await harness.send("GET", "/os-availability-zone");
  expect(zones.json("availabilityZoneInfo", 0, "zoneState", "available")).toBe(false);
});

test("volumes go to the back end that their type names, in its zone, while it has room", async () => {
  const harness = new BlockStorageHarness({
    backEnds: [
      { name: "fast", availabilityZone: "nova", capacity: 10 },
      { name: "slow", availabilityZone: "west", capacity: 100 },
    ],
    defaultVolumeType: "fast",
    maxOverSubscriptionRatio: 1,
  });
  const hostOf = async (id: string) =>
    (await harness.get("GET", `/volumes/${id}`, undefined, { caller: "demo-admin" }))["os-vol-host-attr:host"];
  expect(await hostOf(await harness.volume({ size: 8 }))).toBe("devstack@fast#fast");
  const slow = { size: 50, volume_type: "slow", availability_zone: "west" };
  expect(await hostOf(await harness.volume(slow))).toBe("devstack@slow#slow");
  const full = await harness.volume({ size: 8 });
  expect(await harness.statusOf(`/volumes/${full}`)).toBe("error");
});
