import { expect } from "vitest";
import { arrived, castAbort, heldBy, type LiveMove, reached, stayed, VM } from "../fixtures/live-migrations.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Boots an instance, checks it on D and S, and sends S the migration with the results (spec 6.5 rows 1-4). */
async function migrateLive(harness: Harness): Promise<LiveMove> {
  const config = { sections: { fake_libvirt: { delay_live_migration: 10 } } };
  for (const host of ["devstack1", "devstack2"]) {
    await harness.start(host, libvirt(host, { config }));
  }
  const [s, d] = [nodeOf(harness, "devstack1"), nodeOf(harness, "devstack2")];
  await boot(harness, VM, s);
  harness.store.instances.save(VM, { taskState: "migrating" });
  const migration = harness.store.migrations.create({
    instanceUuid: VM,
    migrationType: "live-migration",
    status: "accepted",
    changes: {
      sourceCompute: s.host,
      sourceNode: s.hypervisorHostname,
      destCompute: d.host,
      destNode: d.hypervisorHostname,
      destComputeId: d.id,
    },
  });
  await harness.allocate(migration.uuid, s);
  await harness.hold(VM, {});
  await harness.allocate(VM, d);
  const { bus } = harness.controlPlane.conductor;
  const ids = { instanceUuid: VM, migrationId: migration.id, requestId: "req-live" };
  const params = { ...ids, blockMigration: null, diskOverCommit: false };
  const options = { requestId: "req-live" };
  const data = await harness.world.runUntil(
    bus.call("devstack2", "check_can_live_migrate_destination", params, options),
  );
  bus.cast("devstack1", "live_migration", { ...ids, dest: d.host, blockMigration: null, data }, "req-live");
  return { harness, uuid: VM, s, d, migration };
}

scenario("6.5 fake-libvirt: there, and gone from here", async (harness) => {
  const move = await migrateLive(harness);
  await reached(move, "completed");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null, powerState: 1 });
  expect(await heldBy(move)).toEqual(arrived(move));
  expect(await guestsOf(harness, "devstack1")).toEqual([]);
  expect(await guestsOf(harness, "devstack2")).toEqual([VM]);
  expect(harness.store.migrations.get(move.migration.id)?.memoryTotal).toBeGreaterThan(0);
});

scenario("6.5 Abort fake-libvirt: still here, and nothing there", async (harness) => {
  const move = await migrateLive(harness);
  await reached(move, "running");
  castAbort(move);
  await reached(move, "cancelled");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null, powerState: 1 });
  expect(await heldBy(move)).toEqual(stayed(move));
  expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
  expect(await guestsOf(harness, "devstack2")).toEqual([]);
});
