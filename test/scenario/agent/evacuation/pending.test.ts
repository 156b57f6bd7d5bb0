import { expect } from "vitest";
import type { Migration } from "../../../../src/records/index.js";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import { AMOUNTS, addInstance, addMigration, placed } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const PERIODIC = { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } };
const POWERED_OFF = { host: "devstack1", method: "powerOff", instance: VM };

for (const status of ["accepted", "pre-migrating"] as const) {
  scenario(`3.3 GAP-c, 3.4 ${status}: the guest is stopped and kept, record and allocations stay`, async (lab) => {
    const evacuation = await evacuated(lab, status);
    const run = await lab.start("devstack1");
    expect(lab.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
    expect(statusOf(lab, evacuation)).toBe(status);
    expect(await lab.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS, [evacuation.d.uuid]: AMOUNTS });
    // Bug 1764883: it is not this host's to initialise either.
    expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "rebuilding", host: "devstack1" });
    expect(run.runtime.logs.some(({ fields }) => fields.evacuation_pending === true)).toBe(true);
  });

  scenario(
    `3.3 GAP-c upstream destroys the guest of an ${status} evacuation`,
    async (lab) => {
      const evacuation = await evacuated(lab, status);
      await lab.start("devstack1", { config: { quirks: ["destroy-pending-evacuations"] } });
      expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
      expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
      expect(statusOf(lab, evacuation)).toBe("completed");
    },
    ["V2"],
  );
}

scenario("3.3 GAP-c once the evacuation is done, the next periodic round cleans up", async (lab) => {
  const evacuation = await evacuated(lab, "pre-migrating");
  await lab.start("devstack1", { config: PERIODIC });
  lab.hypervisor("devstack2").addGuest(VM);
  lab.store.transaction(() => {
    lab.store.instances.save(VM, { ...placed(evacuation.d), taskState: null });
    lab.store.migrations.save(evacuation.migration.id, { status: "done" });
  });
  await lab.world.advance(61_000);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario("3.3 GAP-c while nothing changes, every round leaves it alone", async (lab) => {
  const evacuation = await evacuated(lab, "accepted");
  await lab.start("devstack1", { config: PERIODIC });
  await lab.world.advance(600_000);
  expect(lab.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
  expect(statusOf(lab, evacuation)).toBe("accepted");
});

scenario("3.3 GAP-c an evacuation that failed gives the guest back: it runs again", async (lab) => {
  const evacuation = await evacuated(lab, "accepted");
  await lab.start("devstack1", { config: PERIODIC });
  lab.store.instances.save(VM, { taskState: null });
  lab.store.migrations.save(evacuation.migration.id, { status: "failed" });
  await lab.world.advance(61_000);
  expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  expect(statusOf(lab, evacuation)).toBe("failed");
});

scenario("3.3 GAP-c a failed evacuation of an instance in error leaves the guest stopped", async (lab) => {
  const evacuation = await evacuated(lab, "accepted");
  await lab.start("devstack1", { config: PERIODIC });
  lab.store.instances.save(VM, { taskState: null, vmState: "error" });
  lab.store.migrations.save(evacuation.migration.id, { status: "error" });
  await lab.world.advance(61_000);
  expect(lab.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
});

for (const status of ["accepted", "done"] as const) {
  scenario(
    `3.1 the guest of a later move from here is not what an evacuation that is ${status} has left`,
    async (lab) => {
      const evacuation = await evacuated(lab, status, { holds: ["devstack2"] });
      const { node: far } = await lab.seed("devstack3");
      const move = addMigration(lab.store, VM, "migration", "finished", {
        sourceCompute: "devstack1",
        sourceNode: "devstack1",
        destCompute: "devstack3",
        destNode: "devstack3",
        destComputeId: far.id,
      });
      lab.store.instances.save(VM, { ...placed(far), vmState: "resized", taskState: null });
      await lab.allocate(VM, far);
      await lab.start("devstack1");
      expect(lab.hypervisor("devstack1").changes).toEqual([]);
      expect(statusOf(lab, evacuation)).toBe("completed");
      expect(lab.store.migrations.get(move.id)?.status).toBe("finished");
    },
  );
}

scenario("3.1 a move from here that came to nothing has not taken the instance away", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack3" };
  addMigration(lab.store, VM, "live-migration", "error", ends);
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario("3.3 GAP-c an instance deleted while its evacuation is pending is cleaned up", async (lab) => {
  const evacuation = await evacuated(lab, "accepted");
  await lab.start("devstack1", {
    config: { defaults: { ...PERIODIC.defaults, running_deleted_instance_action: "noop" } },
  });
  lab.store.instances.destroy(VM);
  await lab.world.advance(61_000);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario("3.4 a source that restarts twice around the end of the rebuild ends clean", async (lab) => {
  const evacuation = await evacuated(lab, "pre-migrating");
  const first = await lab.start("devstack1");
  lab.kill(first);
  lab.hypervisor("devstack2").addGuest(VM);
  lab.store.transaction(() => {
    lab.store.instances.save(VM, { ...placed(evacuation.d), taskState: null });
    lab.store.migrations.save(evacuation.migration.id, { status: "done" });
  });
  await lab.start("devstack1");
  expect(statusOf(lab, evacuation)).toBe("completed");
  expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("6.7 a destination that died while rebuilding fails the evacuation at its next start", async (lab) => {
  const evacuation = await evacuated(lab, "pre-migrating");
  lab.hypervisor("devstack2").addGuest(VM);
  await lab.start("devstack2");
  expect(lab.hypervisor("devstack2").changes).toEqual([
    { host: "devstack2", method: "destroy", instance: VM, destroyDisks: false },
  ]);
  expect(await lab.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("failed");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
});

scenario("3.3 OPT an evacuation that began after start-up's look at the records is cleaned up after", async (lab) => {
  const { node: s } = await lab.seed("devstack1");
  const { node: d } = await lab.seed("devstack2");
  addInstance(lab.store, VM, placed(s));
  lab.hypervisor("devstack1").addGuest(VM);
  await lab.allocate(VM, s);
  let migration: Migration | undefined;
  lab.beforeCall = async (host, method) => {
    if (host !== "devstack1" || method !== "host_serve") {
      return;
    }
    const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
    const dest = { destNode: "devstack2", destComputeId: d.id };
    migration = addMigration(lab.store, VM, "evacuation", "done", { ...ends, ...dest });
    lab.store.instances.save(VM, placed(d));
    lab.hypervisor("devstack2").addGuest(VM);
    await lab.allocate(VM, s, d);
  };
  await lab.start("devstack1", { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
  await lab.world.advance(70_000);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(await lab.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
  expect(lab.store.migrations.get(migration?.id ?? 0)?.status).toBe("completed");
});
