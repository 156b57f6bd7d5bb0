import { expect, test } from "vitest";
import type { Instance } from "../../src/records/index.js";
import { Harness } from "../unit/agent/support/harness.js";
import { KillPoint } from "../unit/agent/support/kill-points.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, addInstance, uuidOf } from "../unit/agent/support/records.js";

const VM = uuidOf(1);

interface Operation {
  readonly prepare: (harness: Harness) => Promise<void>;
  readonly begin: (harness: Harness) => void;
  readonly ended: (harness: Harness) => boolean;
  readonly expected: (harness: Harness, instance: Instance) => Promise<void>;
}

/** Kills the agent at every step of an operation in turn; the next start must finish or undo it. */
async function killEverywhere({ prepare, begin, ended, expected }: Operation): Promise<number> {
  for (let at = 0; ; at += 1) {
    const harness = await Harness.create();
    const run = await harness.start("devstack1", libvirt("devstack1"));
    await prepare(harness);
    const point = new KillPoint(harness, "devstack1", at);
    point.arm(run);
    begin(harness);
    await harness.world.runUntil(() => point.struck !== null || ended(harness));
    if (point.struck === null) {
      return at;
    }
    await harness.world.advance(1_000);
    await harness.start("devstack1", libvirt("devstack1"));
    await harness.world.advance(130_000);
    await expected(harness, harness.instance(VM));
  }
}

function cast(harness: Harness, method: "terminate_instance" | "stop_instance" | "start_instance"): void {
  harness.controlPlane.conductor.bus.cast("devstack1", method, { instanceUuid: VM, requestId: "req-1" }, "req-1");
}

test("2.6, 6.2 a delete: the guest, the allocation and the row are gone in the end", async () => {
  const steps = await killEverywhere({
    prepare: (harness) => boot(harness, VM, nodeOf(harness, "devstack1")),
    begin: (harness) => {
      harness.store.instances.save(VM, { taskState: "deleting" });
      cast(harness, "terminate_instance");
    },
    ended: (harness) => harness.instance(VM).deleted !== 0,
    expected: async (harness, instance) => {
      expect(instance.deleted).not.toBe(0);
      expect(await guestsOf(harness, "devstack1")).toEqual([]);
      expect(await harness.held(VM)).toEqual({});
    },
  });
  expect(steps).toBeGreaterThan(4);
});

test("2.6, 2.7, 6.1 a build: active with its guest, or in error; the allocation stays with it", async () => {
  const ends = new Set<string>();
  const steps = await killEverywhere({
    prepare: async (harness) => {
      addInstance(harness.store, VM, { vmState: "building", taskState: "scheduling", powerState: 0 });
      await harness.allocate(VM, nodeOf(harness, "devstack1"));
    },
    begin: (harness) => {
      const { uuid } = nodeOf(harness, "devstack1");
      const allocations = { [uuid]: { resources: AMOUNTS } };
      const request = { instanceUuid: VM, allocations, node: "devstack1", alternates: [], requestId: "req-1" };
      harness.controlPlane.conductor.bus.cast("devstack1", "build_and_run_instance", request, "req-1");
    },
    ended: (harness) => harness.instance(VM).vmState === "active",
    expected: async (harness, { vmState, taskState }) => {
      ends.add(vmState);
      expect(["active", "error"]).toContain(vmState);
      expect(taskState).toBeNull();
      expect(await harness.held(VM)).toEqual({ [nodeOf(harness, "devstack1").uuid]: AMOUNTS });
      if (vmState === "active") {
        expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
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
      prepare: async (harness) => {
        await boot(harness, VM, nodeOf(harness, "devstack1"));
        if (from === "stopped") {
          harness.store.instances.save(VM, { taskState: "powering-off" });
          cast(harness, "stop_instance");
          await harness.world.runUntil(
            () => harness.instance(VM).vmState === "stopped" && harness.instance(VM).taskState === null,
          );
        }
      },
      begin: (harness) => {
        harness.store.instances.save(VM, { taskState: task });
        cast(harness, method);
      },
      ended: (harness) => harness.instance(VM).vmState === to && harness.instance(VM).taskState === null,
      expected: async (harness, instance) => {
        expect(instance).toMatchObject({ vmState: to, taskState: null, powerState: power });
        expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
      },
    });
    expect(steps).toBeGreaterThan(1);
  });
}
