import { expect, test } from "vitest";
import type { MigrationStatus } from "../../src/records/index.js";
import { type EvacuatedOptions, evacuated, statusOf, VM } from "../unit/agent/support/evacuated.js";
import { Harness } from "../unit/agent/support/harness.js";
import { KillPoint } from "../unit/agent/support/kill-points.js";
import { AMOUNTS, addInstance, placed, uuidOf } from "../unit/agent/support/records.js";

/** Kills devstack1 at every step of its start in sequence, starts it again, and checks the result. */
async function killEverywhere(
  prepare: (harness: Harness) => Promise<() => Promise<void>>,
  expectation: (harness: Harness, struck: string) => Promise<void>,
): Promise<readonly string[]> {
  const struckAt: string[] = [];
  for (let at = 0; ; at += 1) {
    const harness = await Harness.create();
    const check = await prepare(harness);
    const point = new KillPoint(harness, "devstack1", at);
    const run = await harness.launch("devstack1");
    point.arm(run);
    const started = run.agent.start();
    await harness.world.runUntil(() => point.struck !== null || run.agent.state === "serving");
    if (point.struck === null) {
      await started;
      await check();
      return struckAt;
    }
    struckAt.push(point.struck);
    await harness.world.advance(1_000);
    const again = await harness.start("devstack1");
    expect(again.agent.state).toBe("serving");
    await check();
    await expectation(harness, point.struck);
  }
}

const cases: readonly (readonly [string, MigrationStatus, EvacuatedOptions])[] = [
  ["a done evacuation", "done", {}],
  ["a done evacuation on shared storage", "done", { sharedStorage: true }],
  ["a done evacuation, hypervisor wiped", "done", { guestLeft: false }],
];

for (const [name, status, options] of cases) {
  test(`3.1, 9.4 ${name}: the source killed at any step of its start ends clean at the next`, async () => {
    const steps = await killEverywhere(
      async (harness) => {
        const evacuation = await evacuated(harness, status, options);
        await harness.start("devstack2");
        return async () => {
          expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
          expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(true);
          expect(harness.hypervisor("devstack2").disks.has(VM)).toBe(true);
          expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
          expect(statusOf(harness, evacuation)).toBe("completed");
          expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
        };
      },
      async (harness) => {
        expect(harness.store.services.list({ host: "devstack1" })).toHaveLength(1);
        expect(harness.store.computeNodes.byHost("devstack1")).toHaveLength(1);
      },
    );
    expect(steps.length).toBeGreaterThan(12);
    expect(steps).toContain("after migration_save");
  });
}

test("3.4, 9.4 a pending evacuation: the source killed at any step keeps the guest and the record", async () => {
  const steps = await killEverywhere(
    async (harness) => {
      const evacuation = await evacuated(harness, "pre-migrating");
      return async () => {
        expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
        expect(statusOf(harness, evacuation)).toBe("pre-migrating");
        expect(Object.keys(await harness.held(VM)).sort()).toEqual([evacuation.s.uuid, evacuation.d.uuid].sort());
      };
    },
    async () => {},
  );
  expect(steps).toContain("during powerOff on devstack1");
});

test("6.7, 9.4 an interrupted evacuation: the destination killed at any step of undoing it ends clean at the next", async () => {
  await killEverywhere(
    async (harness) => {
      // Mirrored: here devstack1 is the destination that was killed.
      const { node: d } = await harness.seed("devstack1");
      const { node: s } = await harness.seed("devstack2");
      addInstance(harness.store, VM, { ...placed(s), taskState: "rebuild_spawning" });
      harness.hypervisor("devstack1").addGuest(VM);
      await harness.allocate(VM, s, d);
      const migration = harness.store.migrations.create({
        instanceUuid: VM,
        migrationType: "evacuation",
        status: "pre-migrating",
        changes: {
          sourceCompute: "devstack2",
          sourceNode: "devstack2",
          destCompute: "devstack1",
          destNode: "devstack1",
          destComputeId: d.id,
        },
      });
      return async () => {
        expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
        expect(await harness.held(VM)).toEqual({ [s.uuid]: AMOUNTS });
        expect(harness.store.migrations.get(migration.id)?.status).toBe("failed");
        expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
      };
    },
    async () => {},
  );
});

test("2.1, 9.4 a first start killed at any step: the next one registers the host once, under one identity", async () => {
  const steps = await killEverywhere(
    async (harness) => {
      addInstance(harness.store, uuidOf(9), { vmState: "shelved_offloaded" });
      harness.hypervisor("devstack1");
      return async () => {
        const [node, second] = harness.store.computeNodes.byHost("devstack1");
        expect(second).toBeUndefined();
        expect((await harness.read("/state/devstack1/compute_id"))?.trim()).toBe(node?.uuid);
        expect(harness.store.services.list({ host: "devstack1" })).toHaveLength(1);
        expect(await harness.providers()).toEqual(["devstack1"]);
      };
    },
    async () => {},
  );
  expect(steps).toContain("after service_create");
  expect(steps).toContain("after compute_node_create");
});
