import { expect, test } from "vitest";
import type { Store } from "../../../src/cluster/store/store.js";
import { EvacuationWatch } from "../../simulator/evacuation-watch.js";
import { addInstance, addService, memoryStore } from "../cluster/store/support.js";

const MINUTE = 60_000;

/** An evacuation is asked for, waits for the conductor, and is handed over to devstack2. */
function evacuate(store: Store, forced: boolean): void {
  const instance = addInstance(store);
  const migration = store.transaction(() => {
    const created = store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "evacuation",
      status: "accepted",
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
    });
    store.tasks.add({
      kind: "rebuild_instance",
      instanceUuid: instance.uuid,
      migrationId: created.id,
      requestId: "req-1",
      host: "devstack2",
      forced,
      onSharedStorage: null,
      targetStopped: false,
    });
    return created;
  });
  store.transaction(() => {
    store.migrations.save(migration.id, { destCompute: "devstack2" });
    for (const { id } of store.tasks.pending()) {
      store.tasks.finish(id);
    }
  });
}

test.each([
  ["a host that is out of service gets none", { disabled: true, waited: 2 * MINUTE, forced: false }, 1],
  ["a host in service may get it", { disabled: false, waited: 2 * MINUTE, forced: false }, 0],
  ["the choice may be older than what the operator did", { disabled: true, waited: MINUTE / 2, forced: false }, 0],
  ["an operator may insist", { disabled: true, waited: 2 * MINUTE, forced: true }, 0],
])("of evacuations %s", async (_name, { disabled, waited, forced }, broken) => {
  const { store } = await memoryStore();
  let now = 0;
  const watch = new EvacuationWatch(() => now);
  watch.follow(store);
  const { id } = addService(store, "devstack2");
  store.services.update(id, { disabled });
  now += waited;
  evacuate(store, forced);
  expect(watch.broken).toHaveLength(broken);
});
