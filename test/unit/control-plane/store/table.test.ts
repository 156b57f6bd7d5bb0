import { beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { InstanceChanges, MigrationChanges } from "../../../../src/records/index.js";
import { addInstance, FLAVOR, memoryStore, uuidOf } from "./support.js";

const UUID = uuidOf(1);

let store: Store;

beforeEach(async () => {
  ({ store } = await memoryStore());
  addInstance(store, UUID);
});

describe("a saved record is returned as it is read", () => {
  test.each<readonly [string, InstanceChanges]>([
    ["words and numbers", { taskState: "resize_prep", taskRequestId: "req-1", powerState: 1, launchedAt: 1_234 }],
    ["lists and objects", { newFlavor: FLAVOR, systemMetadata: { a: "1" } }],
    ["yes and no, and nothing", { cleaned: true, newFlavor: null, displayDescription: null }],
    ["only when it was", {}],
  ])("of an instance: %s", (_, changes) => {
    const saved = store.instances.save(UUID, changes);
    expect(saved).toStrictEqual(store.instances.get(UUID));
    expect(Object.keys(saved)).toEqual(Object.keys(store.instances.get(UUID) ?? {}));
  });

  test("of a migration that ends", () => {
    const { id } = store.migrations.create({ instanceUuid: UUID, migrationType: "migration", status: "accepted" });
    const changes: MigrationChanges = { status: "error", memoryTotal: 7, destCompute: "h" };
    expect(store.migrations.save(id, changes)).toStrictEqual(store.migrations.get(id));
  });
});
