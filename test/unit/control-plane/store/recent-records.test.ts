import { expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { instanceWeight } from "../../../../src/control-plane/store/store.js";
import { RecentRecords } from "../../../../src/control-plane/store/store-context.js";
import { anInstance } from "../../../fixtures/records.js";
import { addInstance, errorOf, memoryStore, uuidOf } from "./support.js";

test("a record that a transaction or a nested one has written is restored by a rollback", async () => {
  const { store } = await memoryStore();
  const { uuid } = addInstance(store);
  const migration = store.migrations.create({ instanceUuid: uuid, migrationType: "migration", status: "accepted" });
  const rename = (displayName: string) => store.instances.save(uuid, { displayName });
  rename("before");
  const undone = new Error("undone");
  const write = () => {
    rename("after");
    store.migrations.save(migration.id, { status: "error" });
    throw undone;
  };
  const names = () => [store.instances.get(uuid)?.displayName, store.migrations.get(migration.id)?.status];
  expect(errorOf(() => store.transaction(write))).toBe(undone);
  expect(names()).toEqual(["before", "accepted"]);
  store.transaction(() => {
    rename("outside");
    expect(errorOf(() => store.transaction(write))).toBe(undone);
    expect(names()).toEqual(["outside", "accepted"]);
  });
  expect(names()).toEqual(["outside", "accepted"]);
});

test("a cached record equals the one in the database after each kind of write", async () => {
  const { store } = await memoryStore();
  const { uuid } = addInstance(store);
  const inDatabase = (deleted = false) => store.instances.byFilters({ uuids: [uuid], deleted })[0];
  const migration = store.migrations.create({ instanceUuid: uuid, migrationType: "resize", status: "accepted" });
  const none = { oldNumaTopology: null, newNumaTopology: null, oldPciDevices: [], newPciDevices: [] };
  const context = { ...none, instanceUuid: uuid, migrationId: migration.id, oldResources: [], newResources: [] };
  store.instances.save(uuid, { migrationContext: context, systemMetadata: { a: "b" }, hidden: true });
  expect(store.instances.get(uuid)).toEqual(inDatabase());
  // Removes the context from the instance.
  store.migrations.save(migration.id, { status: "done", hidden: true });
  expect(store.instances.get(uuid)).toMatchObject({ migrationContext: null });
  expect(store.migrations.get(migration.id)).toEqual(store.migrations.byFilters({ instanceUuid: uuid })[0]);
  store.instances.destroy(uuid);
  expect(store.instances.get(uuid)).toBeNull();
  expect(store.instances.get(uuid, { readDeleted: true })).toEqual(inDatabase(true));
  const [deleted] = store.migrations.byFilters({ instanceUuid: uuid, readDeleted: true });
  expect(store.migrations.get(migration.id)).toEqual(deleted);
  expect(deleted?.deleted).toBe(migration.id);
  expect(store.instances.get(uuidOf(7))).toBeNull();
});

test("heavy records are cached up to a number of characters, without evicting light ones", () => {
  const file = new DatabaseFile(":memory:");
  const sql = new Sql(file);
  const recent = new RecentRecords<string, string>(sql, (text) => text.length);
  recent.set("light", "a record");
  const heavy = "x".repeat(64 * 1024);
  const fill = () => Array.from({ length: 300 }, (_, key) => recent.set(`heavy ${key}`, heavy));
  const countRetained = () =>
    Array.from({ length: 300 }, (_, key) => recent.get(`heavy ${key}`)).filter(Boolean).length;
  fill();
  expect([countRetained(), recent.get("heavy 171"), recent.get("heavy 172"), recent.get("light")]).toEqual([
    128,
    undefined,
    heavy,
    "a record",
  ]);
  // Removed records, and records that are no longer heavy, do not count.
  recent.forget("heavy 299");
  recent.set("heavy 298", "light by now");
  fill();
  expect([countRetained(), recent.get("light")]).toEqual([128, "a record"]);
  expect(errorOf(() => sql.transaction(() => expect.fail("undone")))).toBeInstanceOf(Error);
  expect(countRetained()).toBe(0);
  fill();
  expect(countRetained()).toBe(128);
  file.close();
});

test("an instance's weight is the length of the fields that users can make long", () => {
  const light = instanceWeight(anInstance({}));
  const text = "x".repeat(65_535);
  const long = [
    { userData: text },
    { injectedFiles: [{ path: "/etc/motd", contents: text }] },
    { metadata: { a: text } },
    { systemMetadata: { a: text } },
  ];
  for (const changes of long) {
    expect(instanceWeight(anInstance(changes)) - light, Object.keys(changes)[0]).toBeGreaterThanOrEqual(65_535);
  }
});

test("the number of cached records is limited, and nothing is cached for a database that others write", () => {
  const file = new DatabaseFile(":memory:");
  const recent = new RecentRecords<number, string>(new Sql(file));
  for (let key = 1; key <= 1_001; key += 1) {
    recent.set(key, `record ${key}`);
  }
  expect([recent.get(1), recent.get(2), recent.get(1_001)]).toEqual([undefined, "record 2", "record 1001"]);
  const foreign = new RecentRecords<number, string>(new Sql(file, { isOwn: false }));
  foreign.set(1, "record");
  expect(foreign.get(1)).toBeUndefined();
  file.close();
});
