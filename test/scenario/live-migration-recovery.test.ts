import { describe, expect } from "vitest";
import type { MigrationStatus } from "../../src/records/index.js";
import type { Strategy } from "../fixtures/cold-moves.js";
import {
  arrived,
  castLive,
  chosen,
  heldBy,
  LiveHypervisors,
  type LiveMove,
  reached,
  statusOf,
  stayed,
  VM,
} from "../fixtures/live-migrations.js";
import type { Harness, Run } from "../unit/agent/support/harness.js";
import { AMOUNTS } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };

/** Kills the source at `status`; the destination keeps running. */
async function interrupted(
  harness: Harness,
  status: MigrationStatus,
  strategy: Strategy = "split",
): Promise<{ readonly live: LiveHypervisors; readonly move: LiveMove; readonly restart: () => Promise<void> }> {
  const live = new LiveHypervisors(harness);
  const { source } = await live.start();
  const move = await chosen(harness, strategy);
  harness.kill(source);
  harness.store.migrations.save(move.migration.id, { status });
  const restart = async () => {
    await harness.start("devstack1", live.options("devstack1", PERIODIC));
    await harness.world.advance(65_000);
  };
  return { live, move, restart };
}

describe("2.6 task migrating, the source restarts", () => {
  for (const strategy of ["split", "doubled"] as const) {
    for (const status of ["queued", "preparing", "running", "running (post-copy)"] as const) {
      scenario(`2.6 OPT ${strategy}, ${status}, the guest on S: given back, error, D cleaned`, async (harness) => {
        const { move, restart } = await interrupted(harness, status, strategy);
        harness.hypervisor("devstack2").disks.add(VM);
        await restart();
        expect(statusOf(move)).toBe("error");
        expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
        expect(await heldBy(move)).toEqual(stayed(move));
        expect(harness.hypervisor("devstack2").disks.has(VM)).toBe(false);
        expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(true);
      });
    }

    scenario(`2.6 OPT ${strategy}, running, the guest on D: finished forward`, async (harness) => {
      const { move, restart } = await interrupted(harness, "running", strategy);
      harness.hypervisor("devstack1").guests.delete(VM);
      harness.hypervisor("devstack2").addGuest(VM);
      await restart();
      expect(statusOf(move)).toBe("completed");
      expect(harness.instance(VM)).toMatchObject({
        host: "devstack2",
        vmState: "active",
        taskState: null,
        powerState: 1,
      });
      expect(await heldBy(move)).toEqual(arrived(move));
    });
  }

  scenario("2.6 OPT running, the guest on D, and made anew on S by a reboot: D's goes", async (harness) => {
    const { live, move, restart } = await interrupted(harness, "running");
    live.plan.rejectsRunning = true;
    harness.store.instances.save(VM, { taskState: null, vmState: "error" });
    harness.hypervisor("devstack2").addGuest(VM);
    await restart();
    expect(statusOf(move)).toBe("error");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", taskState: null });
    expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(true);
    expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
  });

  scenario(
    "2.6 OPT running, the guest on D, and one that is off on S: nobody knows which is wanted",
    async (harness) => {
      const { live, move, restart } = await interrupted(harness, "running");
      live.plan.rejectsRunning = true;
      harness.store.instances.save(VM, { taskState: null, vmState: "error" });
      harness.hypervisor("devstack1").addGuest(VM, 4);
      harness.hypervisor("devstack2").addGuest(VM);
      await restart();
      expect(statusOf(move)).toBe("error");
      expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(true);
    },
  );

  /** Kills both hosts when the guest has arrived; the source is started again. */
  async function bothDied(
    harness: Harness,
    defaults: Readonly<Record<string, boolean>> = {},
  ): Promise<{ readonly live: LiveHypervisors; readonly move: LiveMove; readonly source: Run }> {
    const live = new LiveHypervisors(harness);
    const started = await live.start();
    const move = await chosen(harness);
    harness.kill(started.source);
    harness.kill(started.destination);
    harness.store.migrations.save(move.migration.id, { status: "running" });
    harness.hypervisor("devstack1").guests.delete(VM);
    harness.hypervisor("devstack2").addGuest(VM);
    const config = { defaults: { ...PERIODIC.config.defaults, ...defaults } };
    const source = await harness.start("devstack1", live.options("devstack1", { config }));
    return { live, move, source };
  }

  scenario(
    "2.6 rows 16, 17 the guest on D, which is away: none is made here after the host's boot",
    async (harness) => {
      const { live, move } = await bothDied(harness, { resume_guests_state_on_host_boot: true });
      expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
      await harness.start("devstack2", live.options("devstack2", PERIODIC));
      await reached(move, "completed");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active" });
    },
  );

  for (const [migrationType, status] of [
    ["migration", "error"],
    // Leftovers of the live migration continue when an evacuation fails (row 15').
    ["evacuation", "failed"],
  ] as const) {
    scenario(
      `2.6 OPT D is away, and a later ${migrationType} from here has failed: that is no proof that this one had arrived`,
      async (harness) => {
        const { live, move } = await bothDied(harness);
        const { sourceCompute, sourceNode } = move.migration;
        const changes = { sourceCompute, sourceNode };
        harness.store.migrations.create({ instanceUuid: VM, migrationType, status, changes });
        await harness.world.advance(65_000);
        expect(statusOf(move)).toBe("running");
        await harness.start("devstack2", live.options("devstack2", PERIODIC));
        await reached(move, "completed");
        expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active" });
        expect(await heldBy(move)).toEqual(arrived(move));
      },
    );
  }

  scenario(
    "2.6 OPT the guest on D, which serves a moment after S: finished forward within seconds",
    async (harness) => {
      const { live, move } = await bothDied(harness);
      await harness.world.advance(3_000);
      await harness.start("devstack2", live.options("devstack2", PERIODIC));
      expect(statusOf(move)).toBe("running");
      await harness.world.advance(6_000);
      expect(statusOf(move)).toBe("completed");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
      expect(await heldBy(move)).toEqual(arrived(move));
    },
  );

  scenario(
    "2.6 OPT D is away for long: it is asked every five seconds at first, then every minute",
    async (harness) => {
      const { move, source } = await bothDied(harness);
      const tries = () =>
        source.runtime.logs.filter(({ message }) => message.includes("could not end an interrupted live migration"))
          .length;
      await harness.world.advance(60_000);
      expect(tries()).toBeGreaterThanOrEqual(10);
      await harness.world.advance(340_000);
      const before = tries();
      await harness.world.advance(120_000);
      expect(tries() - before).toBe(2);
      expect(statusOf(move)).toBe("running");
    },
  );

  scenario("2.6 OPT the guest on D, which is away: waited for, then finished forward", async (harness) => {
    const { live, move } = await bothDied(harness);
    await harness.world.advance(200_000);
    expect(statusOf(move)).toBe("running");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", taskState: "migrating" });
    await harness.start("devstack2", live.options("devstack2", PERIODIC));
    await reached(move, "completed");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("2.6 OPT the guest is nowhere: error on S, with its allocation", async (harness) => {
    const { move, restart } = await interrupted(harness, "running");
    harness.hypervisor("devstack1").guests.delete(VM);
    await restart();
    expect(statusOf(move)).toBe("error");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario(
    "2.6 accepted, and nobody has it in hand: the process that took its message is gone, and it ends",
    async (harness) => {
      const { move, restart } = await interrupted(harness, "accepted");
      await restart();
      await harness.world.advance(10_000);
      expect(statusOf(move)).toBe("error");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
      expect(await heldBy(move)).toEqual(stayed(move));
    },
  );

  scenario("2.6 accepted, and a task of the conductor's is to hand it over: left alone", async (harness) => {
    const { move, restart } = await interrupted(harness, "accepted");
    const task = { instanceUuid: VM, requestId: "req-live", host: null, forced: false };
    harness.store.tasks.add({ ...task, kind: "live_migrate_instance", blockMigration: null, diskOverCommit: false });
    await restart();
    await harness.world.advance(700_000);
    expect(statusOf(move)).toBe("accepted");
    expect(harness.instance(VM).taskState).toBe("migrating");
  });

  scenario("2.6 accepted, and the cast comes after the restart: migrated", async (harness) => {
    const { move, restart } = await interrupted(harness, "accepted");
    castLive(move);
    await restart();
    expect(statusOf(move)).toBe("completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("2.6 the instance was deleted while S was away: M is released, D cleaned", async (harness) => {
    const { move, restart } = await interrupted(harness, "running");
    harness.hypervisor("devstack1").guests.delete(VM);
    harness.hypervisor("devstack2").addGuest(VM);
    await harness.hold(VM, {});
    harness.store.instances.destroy(VM);
    await restart();
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
    expect(["error", "failed"]).toContain(statusOf(move));
  });

  scenario(
    "2.6 upstream: aborted and forgotten, the allocations stay",
    async (harness) => {
      const live = new LiveHypervisors(harness);
      const { source } = await live.start();
      const move = await chosen(harness);
      harness.kill(source);
      harness.store.migrations.save(move.migration.id, { status: "running" });
      const quirks = ["leave-interrupted-live-migration-allocations"] as const;
      await harness.start("devstack1", live.options("devstack1", { config: { ...PERIODIC.config, quirks } }));
      await harness.world.advance(65_000);
      expect(statusOf(move)).toBe("error");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack1", taskState: null });
      expect(await heldBy(move)).toEqual({
        instance: { [move.d.uuid]: AMOUNTS },
        migration: { [move.s.uuid]: AMOUNTS },
      });
    },
    ["V27"],
  );
});

scenario(
  "6.5 OPT what a completed one has left on S, whose agent died before it was removed, goes",
  async (harness) => {
    const live = new LiveHypervisors(harness);
    const { source } = await live.start(PERIODIC);
    const move = await chosen(harness);
    harness.hypervisor("devstack1").failures.set("cleanup", () => new Error("the hypervisor is broken"));
    castLive(move);
    await reached(move, "completed");
    harness.kill(source);
    harness.hypervisor("devstack1").failures.delete("cleanup");
    harness.hypervisor("devstack1").addGuest(VM, 4);
    await harness.start("devstack1", live.options("devstack1", PERIODIC));
    await harness.world.advance(125_000);
    expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(false);
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(true);
  },
);
