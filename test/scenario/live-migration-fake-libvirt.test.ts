import { expect } from "vitest";
import { arrived, castAbort, heldBy, type LiveMove, reached, stayed, VM } from "../fixtures/live-migrations.js";
import type { Lab } from "../unit/agent/support/harness.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** A booted instance, checked by D and S, and handed to S with what they said (spec 6.5 rows 1-4). */
async function migrateLive(lab: Lab): Promise<LiveMove> {
  const config = { sections: { fake_libvirt: { delay_live_migration: 10 } } };
  for (const host of ["devstack1", "devstack2"]) {
    await lab.start(host, libvirt(host, { config }));
  }
  const [s, d] = [nodeOf(lab, "devstack1"), nodeOf(lab, "devstack2")];
  await boot(lab, VM, s);
  lab.store.instances.save(VM, { taskState: "migrating" });
  const migration = lab.store.migrations.create({
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
  await lab.allocate(migration.uuid, s);
  await lab.hold(VM, {});
  await lab.allocate(VM, d);
  const { bus } = lab.controlPlane.conductor;
  const ids = { instanceUuid: VM, migrationId: migration.id, requestId: "req-live" };
  const asked = { ...ids, blockMigration: null, diskOverCommit: false };
  const options = { requestId: "req-live" };
  const data = await lab.world.runUntil(bus.call("devstack2", "check_can_live_migrate_destination", asked, options));
  bus.cast("devstack1", "live_migration", { ...ids, dest: d.host, blockMigration: null, data }, "req-live");
  return { lab, uuid: VM, s, d, migration };
}

scenario("6.5 fake-libvirt: there, and gone from here", async (lab) => {
  const move = await migrateLive(lab);
  await reached(move, "completed");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null, powerState: 1 });
  expect(await heldBy(move)).toEqual(arrived(move));
  expect(await guestsOf(lab, "devstack1")).toEqual([]);
  expect(await guestsOf(lab, "devstack2")).toEqual([VM]);
  expect(lab.store.migrations.get(move.migration.id)?.memoryTotal).toBeGreaterThan(0);
});

scenario("6.5 Abort fake-libvirt: still here, and nothing there", async (lab) => {
  const move = await migrateLive(lab);
  await reached(move, "running");
  castAbort(move);
  await reached(move, "cancelled");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null, powerState: 1 });
  expect(await heldBy(move)).toEqual(stayed(move));
  expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
  expect(await guestsOf(lab, "devstack2")).toEqual([]);
});
