import { expect } from "vitest";
import type { Migration } from "../../../../src/records/index.js";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import { AMOUNTS, addInstance, addMigration, placed } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const PERIODIC = { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } };
const POWERED_OFF = { host: "devstack1", method: "powerOff", instance: VM };

for (const status of ["accepted", "pre-migrating"] as const) {
  scenario(`3.3 GAP-c, 3.4 ${status}: the guest is stopped and kept, record and allocations stay`, async (harness) => {
    const evacuation = await evacuated(harness, status);
    const run = await harness.start("devstack1");
    expect(harness.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
    expect(statusOf(harness, evacuation)).toBe(status);
    expect(await harness.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS, [evacuation.d.uuid]: AMOUNTS });
    // Bug 1764883: this host must not initialise it either.
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "rebuilding", host: "devstack1" });
    expect(run.runtime.logs.some(({ fields }) => fields.evacuation_pending === true)).toBe(true);
  });

  scenario(
    `3.3 GAP-c upstream destroys the guest of an ${status} evacuation`,
    async (harness) => {
      const evacuation = await evacuated(harness, status);
      await harness.start("devstack1", { config: { quirks: ["destroy-pending-evacuations"] } });
      expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
      expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
      expect(statusOf(harness, evacuation)).toBe("completed");
    },
    ["V2"],
  );
}

scenario("3.3 GAP-c once the evacuation is done, the next periodic round cleans up", async (harness) => {
  const evacuation = await evacuated(harness, "pre-migrating");
  await harness.start("devstack1", { config: PERIODIC });
  harness.hypervisor("devstack2").addGuest(VM);
  harness.store.transaction(() => {
    harness.store.instances.save(VM, { ...placed(evacuation.d), taskState: null });
    harness.store.migrations.save(evacuation.migration.id, { status: "done" });
  });
  await harness.world.advance(61_000);
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario("3.3 GAP-c while nothing changes, every round leaves it alone", async (harness) => {
  const evacuation = await evacuated(harness, "accepted");
  await harness.start("devstack1", { config: PERIODIC });
  await harness.world.advance(600_000);
  expect(harness.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
  expect(statusOf(harness, evacuation)).toBe("accepted");
});

scenario("3.3 GAP-c an evacuation that failed gives the guest back: it runs again", async (harness) => {
  const evacuation = await evacuated(harness, "accepted");
  await harness.start("devstack1", { config: PERIODIC });
  harness.store.instances.save(VM, { taskState: null });
  harness.store.migrations.save(evacuation.migration.id, { status: "failed" });
  await harness.world.advance(61_000);
  expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  expect(statusOf(harness, evacuation)).toBe("failed");
});

scenario("3.3 GAP-c a failed evacuation of an instance in error leaves the guest stopped", async (harness) => {
  const evacuation = await evacuated(harness, "accepted");
  await harness.start("devstack1", { config: PERIODIC });
  harness.store.instances.save(VM, { taskState: null, vmState: "error" });
  harness.store.migrations.save(evacuation.migration.id, { status: "error" });
  await harness.world.advance(61_000);
  expect(harness.hypervisor("devstack1").changes).toEqual([POWERED_OFF]);
});

for (const status of ["accepted", "done"] as const) {
  scenario(
    `3.1 the guest of a later move from here is not what an evacuation that is ${status} has left`,
    async (harness) => {
      const evacuation = await evacuated(harness, status, { holds: ["devstack2"] });
      const { node: far } = await harness.seed("devstack3");
      const move = addMigration(harness.store, VM, "migration", "finished", {
        sourceCompute: "devstack1",
        sourceNode: "devstack1",
        destCompute: "devstack3",
        destNode: "devstack3",
        destComputeId: far.id,
      });
      harness.store.instances.save(VM, { ...placed(far), vmState: "resized", taskState: null });
      await harness.allocate(VM, far);
      await harness.start("devstack1");
      expect(harness.hypervisor("devstack1").changes).toEqual([]);
      expect(statusOf(harness, evacuation)).toBe("completed");
      expect(harness.store.migrations.get(move.id)?.status).toBe("finished");
    },
  );
}

scenario("3.1 a move from here that came to nothing has not taken the instance away", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack3" };
  addMigration(harness.store, VM, "live-migration", "error", ends);
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario("3.3 GAP-c an instance deleted while its evacuation is pending is cleaned up", async (harness) => {
  const evacuation = await evacuated(harness, "accepted");
  await harness.start("devstack1", {
    config: { defaults: { ...PERIODIC.defaults, running_deleted_instance_action: "noop" } },
  });
  harness.store.instances.destroy(VM);
  await harness.world.advance(61_000);
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario("3.4 a source that restarts twice around the end of the rebuild ends clean", async (harness) => {
  const evacuation = await evacuated(harness, "pre-migrating");
  const first = await harness.start("devstack1");
  harness.kill(first);
  harness.hypervisor("devstack2").addGuest(VM);
  harness.store.transaction(() => {
    harness.store.instances.save(VM, { ...placed(evacuation.d), taskState: null });
    harness.store.migrations.save(evacuation.migration.id, { status: "done" });
  });
  await harness.start("devstack1");
  expect(statusOf(harness, evacuation)).toBe("completed");
  expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("6.7 a destination that died while rebuilding fails the evacuation at its next start", async (harness) => {
  const evacuation = await evacuated(harness, "pre-migrating");
  harness.hypervisor("devstack2").addGuest(VM);
  await harness.start("devstack2");
  expect(harness.hypervisor("devstack2").changes).toEqual([
    { host: "devstack2", method: "destroy", instance: VM, destroyDisks: false },
  ]);
  expect(await harness.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("failed");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
});

scenario(
  "3.3 OPT an evacuation that began after start-up's look at the records is cleaned up after",
  async (harness) => {
    const { node: s } = await harness.seed("devstack1");
    const { node: d } = await harness.seed("devstack2");
    addInstance(harness.store, VM, placed(s));
    harness.hypervisor("devstack1").addGuest(VM);
    await harness.allocate(VM, s);
    let migration: Migration | undefined;
    harness.beforeCall = async (host, method) => {
      if (host !== "devstack1" || method !== "host_serve") {
        return;
      }
      const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
      const dest = { destNode: "devstack2", destComputeId: d.id };
      migration = addMigration(harness.store, VM, "evacuation", "done", { ...ends, ...dest });
      harness.store.instances.save(VM, placed(d));
      harness.hypervisor("devstack2").addGuest(VM);
      await harness.allocate(VM, s, d);
    };
    await harness.start("devstack1", { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
    await harness.world.advance(70_000);
    expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
    expect(harness.store.migrations.get(migration?.id ?? 0)?.status).toBe("completed");
  },
);
