import { expect, test } from "vitest";
import { storeOn } from "../../../../src/control-plane/store/store.js";
import { addInstance, memoryStore, uuidOf } from "./support.js";

const UUID = /^[0-9a-f-]{36}$/;

async function withOldRows(count: number) {
  const { store, runtime } = await memoryStore();
  addInstance(store);
  for (let made = 0; made < count; made += 1) {
    store.migrations.create({ instanceUuid: uuidOf(1), migrationType: "migration", status: "finished" });
  }
  store.database.run("UPDATE migrations SET uuid = NULL");
  // A new store, without cached records, as after a restart.
  return storeOn(store.database, { runtime }, () => undefined);
}
function missing(store: Awaited<ReturnType<typeof withOldRows>>) {
  return Number(store.database.get("SELECT count(*) FROM migrations WHERE uuid IS NULL")?.[0]);
}

test("1.5 the online data migration generates uuids for migrations of older releases, in batches", async () => {
  const store = await withOldRows(3);
  expect(store.migrations.fillUuids(2)).toEqual({ needed: 3, completed: 2 });
  expect(missing(store)).toBe(1);
  expect(store.migrations.fillUuids(2)).toEqual({ needed: 1, completed: 1 });
  expect(store.migrations.fillUuids(2)).toEqual({ needed: 0, completed: 0 });
});

test("1.5 a migration without a uuid gets a permanent one when it is read", async () => {
  const store = await withOldRows(1);
  const [read] = store.migrations.byFilters({ instanceUuid: uuidOf(1) });
  expect(read?.uuid).toMatch(UUID);
  expect(missing(store)).toBe(0);
  expect(store.migrations.get(read?.id ?? 0)?.uuid).toBe(read?.uuid);
});
