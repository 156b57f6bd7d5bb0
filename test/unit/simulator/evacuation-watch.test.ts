import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.js";
import type { ComputeNode } from "../../../src/records/index.js";
import { EvacuationWatch } from "../../simulator/evacuation-watch.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../control-plane/store/support.js";

const MINUTE = 60_000;

const at = ({ id, host, hypervisorHostname: node }: ComputeNode) => ({
  host,
  node,
  computeId: id,
  vmState: "active" as const,
  taskState: null,
});

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
  ["a member of its anti-affinity group is on", "anti-affinity", "devstack2", 1],
  ["a member of its soft group is on", "soft-anti-affinity", "devstack2", 0],
  ["no member of its group is on", "anti-affinity", "devstack3", 0],
] as const)("an evacuation to a host that %s: %s", async (_name, policy, elsewhere, broken) => {
  const { store } = await memoryStore();
  const watch = new EvacuationWatch(() => 0);
  watch.follow(store);
  const owner = { projectId: "project", userId: "user" };
  const group = store.serverGroups.create({ ...owner, name: "group", policy, maxServerPerHost: 0 });
  const node = addNode(store, addService(store, elsewhere));
  const [server, other] = [addInstance(store, uuidOf(1)), addInstance(store, uuidOf(2), at(node))];
  for (const { uuid } of [server, other]) {
    store.serverGroups.addMember(group.id, uuid, "user");
  }
  const { id } = store.migrations.create({
    instanceUuid: server.uuid,
    migrationType: "evacuation",
    status: "pre-migrating",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
  });
  store.migrations.save(id, { status: "done" });
  expect(watch.crowded).toHaveLength(broken);
});

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
