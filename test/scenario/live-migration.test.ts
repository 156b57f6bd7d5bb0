import { describe, expect } from "vitest";
import {
  arrived,
  castAbort,
  castLive,
  chosen,
  heldBy,
  LiveHypervisors,
  reached,
  statusOf,
  stayed,
  VM,
} from "../fixtures/live-migrations.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const STRATEGIES = ["split", "doubled"] as const;

describe("6.5 live migration", () => {
  for (const strategy of STRATEGIES) {
    scenario(`6.5 rows 5-9 ${strategy}: queued, preparing, running, there, completed`, async (harness) => {
      const live = new LiveHypervisors(harness);
      await live.start();
      const move = await chosen(harness, strategy);
      const states: (string | undefined)[] = [];
      harness.afterCall = (_, method) => {
        if (method.startsWith("migration_save") && states.at(-1) !== statusOf(move)) {
          states.push(statusOf(move));
        }
      };
      castLive(move);
      await reached(move, "running");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack1", taskState: "migrating", vmState: "active" });
      expect(await heldBy(move)).toEqual(
        strategy === "split"
          ? { instance: { [move.d.uuid]: AMOUNTS }, migration: { [move.s.uuid]: AMOUNTS } }
          : { instance: { [move.s.uuid]: AMOUNTS, [move.d.uuid]: AMOUNTS }, migration: {} },
      );
      await reached(move, "completed");
      await harness.world.advance(1_000);
      expect(states).toEqual(["queued", "preparing", "running", "completed"]);
      expect(harness.instance(VM)).toMatchObject({
        host: "devstack2",
        node: "devstack2",
        computeId: move.d.id,
        launchedOn: "devstack1",
        vmState: "active",
        taskState: null,
        powerState: 1,
      });
      expect(await heldBy(move)).toEqual(arrived(move));
      expect(harness.hypervisor("devstack1").guests.size).toBe(0);
      expect(harness.hypervisor("devstack1").disks.size).toBe(0);
      expect(harness.hypervisor("devstack2").guests.get(VM)?.power).toBe(1);
      expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
      expect(nodeOf(harness, "devstack2").vcpusUsed).toBe(1);
      expect(harness.store.migrations.get(move.migration.id)).toMatchObject({
        memoryTotal: 20,
        memoryProcessed: 20,
        memoryRemaining: 0,
        diskTotal: 200,
        diskProcessed: 200,
        diskRemaining: 0,
      });
    });

    scenario(
      `6.5 Rollback ${strategy}: the driver gives up: failed, back on S with its allocation (V27)`,
      async (harness) => {
        const live = new LiveHypervisors(harness);
        live.plan.ending = "recovers";
        await live.start();
        const move = await chosen(harness, strategy);
        castLive(move);
        await reached(move, "failed");
        expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
        expect(await heldBy(move)).toEqual(stayed(move));
        expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
        expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(true);
        expect(harness.hypervisor("devstack2").disks.has(VM)).toBe(false);
      },
    );

    scenario(`6.5 Abort running, ${strategy}: cancelled, everything as before`, async (harness) => {
      const live = new LiveHypervisors(harness);
      await live.start();
      const move = await chosen(harness, strategy);
      castLive(move);
      await reached(move, "running");
      castAbort(move);
      await reached(move, "cancelled");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
      expect(await heldBy(move)).toEqual(stayed(move));
      expect(harness.store.instances.fault(VM)).toBeNull();
    });
  }

  for (const [ending, status, state] of [
    ["moves", "completed", "a15"],
    ["recovers", "failed", "a16"],
  ] as const) {
    scenario(
      `6.5 golden ${state}: the agents change the source's provider once, the destination's never`,
      async (harness) => {
        const live = new LiveHypervisors(harness);
        live.plan.ending = ending;
        await live.start();
        const move = await chosen(harness);
        const before = [await harness.generation(move.s), await harness.generation(move.d)];
        castLive(move);
        await reached(move, status);
        const after = [await harness.generation(move.s), await harness.generation(move.d)];
        expect(after.map((generation, index) => generation - (before[index] ?? 0))).toEqual([1, 0]);
      },
    );
  }

  scenario("6.5 row 5 one at a time; an abort takes a queued one out", async (harness) => {
    const live = new LiveHypervisors(harness);
    await live.start();
    const first = await chosen(harness);
    const second = await chosen(harness, "split", uuidOf(2));
    castLive(first);
    castLive(second);
    await reached(first, "running");
    expect(statusOf(second)).toBe("queued");
    castAbort(second);
    await reached(second, "cancelled");
    expect(statusOf(first)).toBe("running");
    expect(await heldBy(second)).toEqual(stayed(second));
    expect(harness.instance(second.uuid)).toMatchObject({ host: "devstack1", taskState: null });
    expect(harness.hypervisor("devstack2").calls.some(({ instance }) => instance === second.uuid)).toBe(false);
    await reached(first, "completed");
  });
});
