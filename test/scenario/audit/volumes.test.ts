import { beforeEach, expect, it } from "vitest";
import { applyPlan } from "../../../src/audit/plan/apply-plan.js";
import { onlyOf } from "../../../src/audit/plan/plan.js";
import type { Instance } from "../../../src/records/index.js";
import { AuditWorld } from "../../unit/audit/audit-world.js";

const GONE = "d0000000-0000-4000-8000-0000000000aa";

let world: AuditWorld;

beforeEach(async () => {
  world = await AuditWorld.open();
  await world.host("one");
  await world.host("two");
});

/** Attaches a volume on a host. Returns the id of the attachment. */
async function attach(volume: string, server: string, host: string): Promise<string> {
  const id = world.api.blockStorage.volumes.reserve(volume, server);
  await world.api.volumeRequest("PUT", `/attachments/${id}`, { attachment: { connector: { host } } });
  world.api.blockStorage.volumes.complete(id);
  return id;
}

/** Gives a server on `one` a new volume, attached on a host. Returns the ids of volume and attachment. */
async function withVolume(of: Instance, host = "one"): Promise<readonly [volume: string, attachment: string]> {
  const volumeId = await world.api.volume({ name: `${of.displayName}-data` });
  const attachmentId = await attach(volumeId, of.uuid, host);
  addDevice(of, volumeId, attachmentId);
  return [volumeId, attachmentId];
}

function addDevice(of: Instance, volumeId: string, attachmentId: string): void {
  const { store } = world.api;
  store.instances.save(of.uuid, { systemMetadata: { ...of.systemMetadata, block_devices: "True" } });
  const types = { sourceType: "volume", destinationType: "volume" } as const;
  store.blockDevices.create({ instanceUuid: of.uuid, volumeId, attachmentId, deviceName: "/dev/vdb", ...types });
}

function resetStatus(volume: string, status: string): void {
  world.api.store.database.run("UPDATE block_storage_volumes SET status = ? WHERE id = ?", status, volume);
}

async function settle(): Promise<void> {
  await world.settle();
  world.reportAll();
}

async function outcomes(plan: Parameters<typeof applyPlan>[1], undo: boolean): Promise<readonly string[]> {
  const lines = await applyPlan(await world.cloud(), plan, { undo });
  return lines.map(({ outcome }) => outcome.state);
}

async function statuses(...volumes: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(volumes.map((volume) => world.api.volumeStatus(volume)));
}

it("finds orphaned attachments and stuck volumes, corrects them, and says what cannot be undone", async () => {
  const vm = await world.healthy("one", "vm");
  const orphaned = await world.api.volume();
  const orphan = await attach(orphaned, GONE, "one");
  const [detaching] = await withVolume(vm);
  const [reserved, inUse] = [await world.api.volume(), await world.api.volume()];
  const [healthy] = await withVolume(await world.healthy("two", "other"), "two");
  resetStatus(detaching, "detaching");
  resetStatus(reserved, "reserved");
  resetStatus(inUse, "in-use");
  expect(await world.found()).toEqual([]);
  await settle();

  const { findings, plan, scope } = await world.audit();
  const found = findings.map(({ code, subject }) => `${code} ${subject.uuid}`);
  expect(found.toSorted()).toEqual(
    [
      `orphaned-attachment ${orphan}`,
      `stuck-volume ${detaching}`,
      `stuck-volume ${reserved}`,
      `stuck-volume ${inUse}`,
    ].toSorted(),
  );
  expect(scope.volumes).toBe(5);
  expect(await outcomes(plan, false)).toEqual(["done", "done", "done", "done"]);
  expect(await statuses(orphaned, detaching, reserved, inUse, healthy)).toEqual([
    "available",
    "in-use",
    "available",
    "available",
    "in-use",
  ]);
  await settle();
  expect(await world.found()).toEqual([]);
  expect(await outcomes(plan, false)).toEqual(["already", "already", "already", "already"]);

  expect(await outcomes(onlyOf(plan, [detaching, reserved]), true)).toEqual(["done", "done"]);
  expect(await statuses(detaching, reserved)).toEqual(["detaching", "reserved"]);
  const lines = await applyPlan(await world.cloud(), onlyOf(plan, [orphan, inUse]), { undo: true });
  expect(lines.map(({ outcome }) => outcome).toReversed()).toEqual([
    { state: "refused", why: "a deleted attachment cannot be restored" },
    { state: "refused", why: "a volume without an attachment cannot be set to in-use" },
  ]);
});

it("deletes the attachment on the source that an evacuation has left, and keeps the destination's", async () => {
  const vm = await world.healthy("two", "vm");
  const volume = await world.api.volume();
  const source = await attach(volume, vm.uuid, "one");
  const dest = await attach(volume, vm.uuid, "two");
  addDevice(vm, volume, dest);
  world.migration(vm, "evacuation", "completed", ["one", "two"]);
  await settle();
  const { findings, plan } = await world.audit();
  expect(findings).toMatchObject([
    { code: "leftover-attachment", subject: { uuid: source }, provider: { uuid: volume }, left: null },
  ]);
  expect(await outcomes(plan, false)).toEqual(["done"]);
  await settle();
  expect(await world.found()).toEqual([]);
  const left = await world.api.volumeRequest("GET", `/attachments/${dest}`);
  expect(left.json("attachment", "status")).toBe("attached");
});

it("reads which of two attachments on one host the block device has", async () => {
  const vm = await world.healthy("one", "vm");
  const volume = await world.api.volume();
  const [first, second] = [await attach(volume, vm.uuid, "one"), await attach(volume, vm.uuid, "one")];
  addDevice(vm, volume, first);
  await settle();
  expect((await world.audit()).findings).toMatchObject([{ code: "leftover-attachment", subject: { uuid: second } }]);
});

it("compares the only attachment of a block device with --thorough", async () => {
  const vm = await world.healthy("one", "vm");
  const volume = await world.api.volume();
  const attachment = await attach(volume, vm.uuid, "one");
  addDevice(vm, volume, GONE);
  await settle();
  expect(await world.found()).toEqual([]);
  expect(await world.found({ thorough: true })).toEqual([`leftover-attachment ${attachment}`]);
});

it("reports an attachment on another host, and a block device without one", async () => {
  const vm = await world.healthy("one", "vm");
  const [, misplaced] = await withVolume(vm, "two");
  const [lost, attachment] = await withVolume(vm);
  world.api.blockStorage.volumes.removeAttachment(attachment);
  await settle();
  const { findings, plan } = await world.audit();
  expect(findings.map(({ code, subject, provider }) => [code, subject.uuid, provider?.uuid])).toEqual([
    ["misplaced-attachment", misplaced, expect.any(String)],
    ["missing-attachment", vm.uuid, lost],
  ]);
  expect(plan.edits).toEqual([]);
});

it("does not change a volume or an attachment that has changed since the audit", async () => {
  const [orphaned, reserved] = [await world.api.volume(), await world.api.volume()];
  const orphan = await attach(orphaned, GONE, "one");
  resetStatus(reserved, "reserved");
  await settle();
  const { plan } = await world.audit();
  const other = world.server("one", "other");
  world.api.store.database.run(
    "UPDATE block_storage_attachments SET instance_uuid = ? WHERE id = ?",
    other.uuid,
    orphan,
  );
  resetStatus(reserved, "error");
  const lines = await applyPlan(await world.cloud(), plan, { undo: false });
  expect(lines.map(({ outcome }) => outcome)).toEqual([
    { state: "refused", why: `attachment ${orphan} has changed since the audit: it is not of server ${GONE}` },
    {
      state: "refused",
      why: `volume ${reserved} has changed since the audit: expected status reserved, found error`,
    },
  ]);
});

it("does not report what a request in progress has finished at the second look", async () => {
  const orphaned = await world.api.volume();
  const orphan = await attach(orphaned, GONE, "one");
  await settle();
  let isFirst = true;
  world.meddle = (_, path) => {
    if (isFirst && path.includes(`/volumes/${orphaned}`)) {
      isFirst = false;
      world.api.blockStorage.volumes.removeAttachment(orphan);
    }
    return undefined;
  };
  expect(await world.found()).toEqual([]);
});

it("checks no volumes in a cloud without Block Storage", async () => {
  await attach(await world.api.volume(), GONE, "one");
  await settle();
  const cloud = { ...(await world.cloud()), blockStorage: null };
  const { findings, scope } = await world.auditOf(cloud);
  expect([findings, scope.volumes]).toEqual([[], null]);
});
