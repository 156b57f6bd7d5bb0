import { expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/cluster/database/database-file.js";
import { RecentRecords } from "../../../../src/cluster/store/recent-records.js";
import { Sql } from "../../../../src/cluster/store/sql.js";
import { addInstance, errorOf, memoryStore, uuidOf } from "./support.js";

test("a record that a transaction, or a part of one, has written is as before when that is undone", async () => {
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

test("a record is what the database has after each kind of write", async () => {
  const { store } = await memoryStore();
  const { uuid } = addInstance(store);
  const inDatabase = (deleted = false) => store.instances.byFilters({ uuids: [uuid], deleted })[0];
  const migration = store.migrations.create({ instanceUuid: uuid, migrationType: "resize", status: "accepted" });
  const none = { oldNumaTopology: null, newNumaTopology: null, oldPciDevices: [], newPciDevices: [] };
  const context = { ...none, instanceUuid: uuid, migrationId: migration.id, oldResources: [], newResources: [] };
  store.instances.save(uuid, { migrationContext: context, systemMetadata: { a: "b" }, hidden: true });
  expect(store.instances.get(uuid)).toEqual(inDatabase());
  // Takes the context from the instance.
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

test("only so many are kept, and nothing of a database that others write, too", () => {
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
