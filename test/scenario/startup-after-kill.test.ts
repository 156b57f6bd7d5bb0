import { expect, test } from "vitest";
import type { Instance } from "../../src/records/index.js";
import { Lab } from "../unit/agent/support/harness.js";
import { KillPoint } from "../unit/agent/support/kill-points.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, addInstance, uuidOf } from "../unit/agent/support/records.js";

const VM = uuidOf(1);

interface Operation {
  readonly prepare: (lab: Lab) => Promise<void>;
  readonly begin: (lab: Lab) => void;
  readonly ended: (lab: Lab) => boolean;
  readonly expected: (lab: Lab, instance: Instance) => Promise<void>;
}

/** Kills the agent at every step of an operation in turn; the next start has to finish or undo it. */
async function killEverywhere({ prepare, begin, ended, expected }: Operation): Promise<number> {
  for (let at = 0; ; at += 1) {
    const lab = await Lab.create();
    const run = await lab.start("devstack1", libvirt("devstack1"));
    await prepare(lab);
    const point = new KillPoint(lab, "devstack1", at);
    point.arm(run);
    begin(lab);
    await lab.world.runUntil(() => point.struck !== null || ended(lab));
    if (point.struck === null) {
      return at;
    }
    await lab.world.advance(1_000);
    await lab.start("devstack1", libvirt("devstack1"));
    await lab.world.advance(130_000);
    await expected(lab, lab.instance(VM));
  }
}

function cast(lab: Lab, method: "terminate_instance" | "stop_instance" | "start_instance"): void {
  lab.controlPlane.conductor.bus.cast("devstack1", method, { instanceUuid: VM, requestId: "req-1" }, "req-1");
}

test("2.6, 6.2 a delete: the guest, the allocation and the row are gone in the end", async () => {
  const steps = await killEverywhere({
    prepare: (lab) => boot(lab, VM, nodeOf(lab, "devstack1")),
    begin: (lab) => {
      lab.store.instances.save(VM, { taskState: "deleting" });
      cast(lab, "terminate_instance");
    },
    ended: (lab) => lab.instance(VM).deleted !== 0,
    expected: async (lab, instance) => {
      expect(instance.deleted).not.toBe(0);
      expect(await guestsOf(lab, "devstack1")).toEqual([]);
      expect(await lab.held(VM)).toEqual({});
    },
  });
  expect(steps).toBeGreaterThan(4);
});

test("2.6, 2.7, 6.1 a build: active with its guest, or in error; the allocation stays with it", async () => {
  const ends = new Set<string>();
  const steps = await killEverywhere({
    prepare: async (lab) => {
      addInstance(lab.store, VM, { vmState: "building", taskState: "scheduling", powerState: 0 });
      await lab.allocate(VM, nodeOf(lab, "devstack1"));
    },
    begin: (lab) => {
      const { uuid } = nodeOf(lab, "devstack1");
      const allocations = { [uuid]: { resources: AMOUNTS } };
      const request = { instanceUuid: VM, allocations, node: "devstack1", alternates: [], requestId: "req-1" };
      lab.controlPlane.conductor.bus.cast("devstack1", "build_and_run_instance", request, "req-1");
    },
    ended: (lab) => lab.instance(VM).vmState === "active",
    expected: async (lab, { vmState, taskState }) => {
      ends.add(vmState);
      expect(["active", "error"]).toContain(vmState);
      expect(taskState).toBeNull();
      expect(await lab.held(VM)).toEqual({ [nodeOf(lab, "devstack1").uuid]: AMOUNTS });
      if (vmState === "active") {
        expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
      }
    },
  });
  expect(steps).toBeGreaterThan(6);
  expect(ends).toContain("error");
});

for (const [method, task, from, to, power] of [
  ["stop_instance", "powering-off", "active", "stopped", 4],
  ["start_instance", "powering-on", "stopped", "active", 1],
] as const) {
  test(`2.6 ${method}: done in the end`, async () => {
    const steps = await killEverywhere({
      prepare: async (lab) => {
        await boot(lab, VM, nodeOf(lab, "devstack1"));
        if (from === "stopped") {
          lab.store.instances.save(VM, { taskState: "powering-off" });
          cast(lab, "stop_instance");
          await lab.world.runUntil(() => lab.instance(VM).vmState === "stopped" && lab.instance(VM).taskState === null);
        }
      },
      begin: (lab) => {
        lab.store.instances.save(VM, { taskState: task });
        cast(lab, method);
      },
      ended: (lab) => lab.instance(VM).vmState === to && lab.instance(VM).taskState === null,
      expected: async (lab, instance) => {
        expect(instance).toMatchObject({ vmState: to, taskState: null, powerState: power });
        expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
      },
    });
    expect(steps).toBeGreaterThan(1);
  });
}
