import { expect, test } from "vitest";
import type { MigrationStatus } from "../../src/records/index.js";
import { type EvacuatedOptions, evacuated, statusOf, VM } from "../unit/agent/support/evacuated.js";
import { Lab } from "../unit/agent/support/harness.js";
import { KillPoint } from "../unit/agent/support/kill-points.js";
import { AMOUNTS, addInstance, placed, uuidOf } from "../unit/agent/support/records.js";

/** Kills devstack1 at every step of its start in turn, starts it again, and looks at the end. */
async function killEverywhere(
  prepare: (lab: Lab) => Promise<() => Promise<void>>,
  expectation: (lab: Lab, struck: string) => Promise<void>,
): Promise<readonly string[]> {
  const struckAt: string[] = [];
  for (let at = 0; ; at += 1) {
    const lab = await Lab.create();
    const check = await prepare(lab);
    const point = new KillPoint(lab, "devstack1", at);
    const run = await lab.launch("devstack1");
    point.arm(run);
    const started = run.agent.start();
    await lab.world.runUntil(() => point.struck !== null || run.agent.state === "serving");
    if (point.struck === null) {
      await started;
      await check();
      return struckAt;
    }
    struckAt.push(point.struck);
    await lab.world.advance(1_000);
    const again = await lab.start("devstack1");
    expect(again.agent.state).toBe("serving");
    await check();
    await expectation(lab, point.struck);
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
      async (lab) => {
        const evacuation = await evacuated(lab, status, options);
        await lab.start("devstack2");
        return async () => {
          expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
          expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(true);
          expect(lab.hypervisor("devstack2").disks.has(VM)).toBe(true);
          expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
          expect(statusOf(lab, evacuation)).toBe("completed");
          expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
        };
      },
      async (lab) => {
        expect(lab.store.services.list({ host: "devstack1" })).toHaveLength(1);
        expect(lab.store.computeNodes.byHost("devstack1")).toHaveLength(1);
      },
    );
    expect(steps.length).toBeGreaterThan(12);
    expect(steps).toContain("after migration_save");
  });
}

test("3.4, 9.4 a pending evacuation: the source killed at any step keeps the guest and the record", async () => {
  const steps = await killEverywhere(
    async (lab) => {
      const evacuation = await evacuated(lab, "pre-migrating");
      return async () => {
        expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
        expect(statusOf(lab, evacuation)).toBe("pre-migrating");
        expect(Object.keys(await lab.held(VM)).sort()).toEqual([evacuation.s.uuid, evacuation.d.uuid].sort());
      };
    },
    async () => {},
  );
  expect(steps).toContain("during powerOff on devstack1");
});

test("6.7, 9.4 an interrupted evacuation: the destination killed at any step of undoing it ends clean at the next", async () => {
  await killEverywhere(
    async (lab) => {
      // Mirrored: here devstack1 is the destination that died.
      const { node: d } = await lab.seed("devstack1");
      const { node: s } = await lab.seed("devstack2");
      addInstance(lab.store, VM, { ...placed(s), taskState: "rebuild_spawning" });
      lab.hypervisor("devstack1").addGuest(VM);
      await lab.allocate(VM, s, d);
      const migration = lab.store.migrations.create({
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
        expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
        expect(await lab.held(VM)).toEqual({ [s.uuid]: AMOUNTS });
        expect(lab.store.migrations.get(migration.id)?.status).toBe("failed");
        expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
      };
    },
    async () => {},
  );
});

test("2.1, 9.4 a first start killed at any step: the next one registers the host once, under one identity", async () => {
  const steps = await killEverywhere(
    async (lab) => {
      addInstance(lab.store, uuidOf(9), { vmState: "shelved_offloaded" });
      lab.hypervisor("devstack1");
      return async () => {
        const [node, second] = lab.store.computeNodes.byHost("devstack1");
        expect(second).toBeUndefined();
        expect((await lab.read("/state/devstack1/compute_id"))?.trim()).toBe(node?.uuid);
        expect(lab.store.services.list({ host: "devstack1" })).toHaveLength(1);
        expect(await lab.providers()).toEqual(["devstack1"]);
      };
    },
    async () => {},
  );
  expect(steps).toContain("after service_create");
  expect(steps).toContain("after compute_node_create");
});
