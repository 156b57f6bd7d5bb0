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
import type { Lab, Run } from "../unit/agent/support/harness.js";
import { AMOUNTS } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };

/** The source died at `status`; the destination runs on. */
async function interrupted(
  lab: Lab,
  status: MigrationStatus,
  strategy: Strategy = "split",
): Promise<{ readonly live: LiveHypervisors; readonly move: LiveMove; readonly restart: () => Promise<void> }> {
  const live = new LiveHypervisors(lab);
  const { source } = await live.start();
  const move = await chosen(lab, strategy);
  lab.kill(source);
  lab.store.migrations.save(move.migration.id, { status });
  const restart = async () => {
    await lab.start("devstack1", live.options("devstack1", PERIODIC));
    await lab.world.advance(65_000);
  };
  return { live, move, restart };
}

describe("2.6 task migrating, the source restarts", () => {
  for (const strategy of ["split", "doubled"] as const) {
    for (const status of ["queued", "preparing", "running", "running (post-copy)"] as const) {
      scenario(`2.6 OPT ${strategy}, ${status}, the guest on S: given back, error, D cleaned`, async (lab) => {
        const { move, restart } = await interrupted(lab, status, strategy);
        lab.hypervisor("devstack2").disks.add(VM);
        await restart();
        expect(statusOf(move)).toBe("error");
        expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
        expect(await heldBy(move)).toEqual(stayed(move));
        expect(lab.hypervisor("devstack2").disks.has(VM)).toBe(false);
        expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(true);
      });
    }

    scenario(`2.6 OPT ${strategy}, running, the guest on D: finished forward`, async (lab) => {
      const { move, restart } = await interrupted(lab, "running", strategy);
      lab.hypervisor("devstack1").guests.delete(VM);
      lab.hypervisor("devstack2").addGuest(VM);
      await restart();
      expect(statusOf(move)).toBe("completed");
      expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null, powerState: 1 });
      expect(await heldBy(move)).toEqual(arrived(move));
    });
  }

  scenario("2.6 OPT running, the guest on D, and made anew on S by a reboot: D's goes", async (lab) => {
    const { live, move, restart } = await interrupted(lab, "running");
    live.plan.refusesRunning = true;
    lab.store.instances.save(VM, { taskState: null, vmState: "error" });
    lab.hypervisor("devstack2").addGuest(VM);
    await restart();
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", taskState: null });
    expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(true);
    expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
  });

  scenario("2.6 OPT running, the guest on D, and one that is off on S: nobody knows which is wanted", async (lab) => {
    const { live, move, restart } = await interrupted(lab, "running");
    live.plan.refusesRunning = true;
    lab.store.instances.save(VM, { taskState: null, vmState: "error" });
    lab.hypervisor("devstack1").addGuest(VM, 4);
    lab.hypervisor("devstack2").addGuest(VM);
    await restart();
    expect(statusOf(move)).toBe("error");
    expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(true);
  });

  /** Both hosts died when the guest had arrived; the source is back. */
  async function bothDied(
    lab: Lab,
    defaults: Readonly<Record<string, boolean>> = {},
  ): Promise<{ readonly live: LiveHypervisors; readonly move: LiveMove; readonly source: Run }> {
    const live = new LiveHypervisors(lab);
    const started = await live.start();
    const move = await chosen(lab);
    lab.kill(started.source);
    lab.kill(started.destination);
    lab.store.migrations.save(move.migration.id, { status: "running" });
    lab.hypervisor("devstack1").guests.delete(VM);
    lab.hypervisor("devstack2").addGuest(VM);
    const config = { defaults: { ...PERIODIC.config.defaults, ...defaults } };
    const source = await lab.start("devstack1", live.options("devstack1", { config }));
    return { live, move, source };
  }

  scenario("2.6 rows 16, 17 the guest on D, which is away: none is made here after the host's boot", async (lab) => {
    const { live, move } = await bothDied(lab, { resume_guests_state_on_host_boot: true });
    expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
    await lab.start("devstack2", live.options("devstack2", PERIODIC));
    await reached(move, "completed");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active" });
  });

  for (const [migrationType, status] of [
    ["migration", "error"],
    // What is left of the live migration when an evacuation fails goes on (row 15').
    ["evacuation", "failed"],
  ] as const) {
    scenario(
      `2.6 OPT D is away, and a later ${migrationType} from here has failed: that is no proof that this one had arrived`,
      async (lab) => {
        const { live, move } = await bothDied(lab);
        const { sourceCompute, sourceNode } = move.migration;
        const changes = { sourceCompute, sourceNode };
        lab.store.migrations.create({ instanceUuid: VM, migrationType, status, changes });
        await lab.world.advance(65_000);
        expect(statusOf(move)).toBe("running");
        await lab.start("devstack2", live.options("devstack2", PERIODIC));
        await reached(move, "completed");
        expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active" });
        expect(await heldBy(move)).toEqual(arrived(move));
      },
    );
  }

  scenario("2.6 OPT the guest on D, which serves a moment after S: finished forward within seconds", async (lab) => {
    const { live, move } = await bothDied(lab);
    await lab.world.advance(3_000);
    await lab.start("devstack2", live.options("devstack2", PERIODIC));
    expect(statusOf(move)).toBe("running");
    await lab.world.advance(6_000);
    expect(statusOf(move)).toBe("completed");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("2.6 OPT D is away for long: it is asked every five seconds at first, then every minute", async (lab) => {
    const { move, source } = await bothDied(lab);
    const tries = () => source.runtime.logs.filter(({ message }) => message.includes("is tried again later")).length;
    await lab.world.advance(60_000);
    expect(tries()).toBeGreaterThanOrEqual(10);
    await lab.world.advance(340_000);
    const before = tries();
    await lab.world.advance(120_000);
    expect(tries() - before).toBe(2);
    expect(statusOf(move)).toBe("running");
  });

  scenario("2.6 OPT the guest on D, which is away: waited for, then finished forward", async (lab) => {
    const { live, move } = await bothDied(lab);
    await lab.world.advance(200_000);
    expect(statusOf(move)).toBe("running");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", taskState: "migrating" });
    await lab.start("devstack2", live.options("devstack2", PERIODIC));
    await reached(move, "completed");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("2.6 OPT the guest is nowhere: error on S, with its allocation", async (lab) => {
    const { move, restart } = await interrupted(lab, "running");
    lab.hypervisor("devstack1").guests.delete(VM);
    await restart();
    expect(statusOf(move)).toBe("error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    expect(await heldBy(move)).toEqual(stayed(move));
  });

  scenario(
    "2.6 accepted, and nobody has it in hand: the process that took its message is gone, and it ends",
    async (lab) => {
      const { move, restart } = await interrupted(lab, "accepted");
      await restart();
      await lab.world.advance(10_000);
      expect(statusOf(move)).toBe("error");
      expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
      expect(await heldBy(move)).toEqual(stayed(move));
    },
  );

  scenario("2.6 accepted, and a task of the conductor's is to hand it over: left alone", async (lab) => {
    const { move, restart } = await interrupted(lab, "accepted");
    const task = { instanceUuid: VM, requestId: "req-live", host: null, forced: false };
    lab.store.tasks.add({ ...task, kind: "live_migrate_instance", blockMigration: null, diskOverCommit: false });
    await restart();
    await lab.world.advance(700_000);
    expect(statusOf(move)).toBe("accepted");
    expect(lab.instance(VM).taskState).toBe("migrating");
  });

  scenario("2.6 accepted, and the cast comes after the restart: migrated", async (lab) => {
    const { move, restart } = await interrupted(lab, "accepted");
    castLive(move);
    await restart();
    expect(statusOf(move)).toBe("completed");
    expect(await heldBy(move)).toEqual(arrived(move));
  });

  scenario("2.6 the instance was deleted while S was away: M is released, D cleaned", async (lab) => {
    const { move, restart } = await interrupted(lab, "running");
    lab.hypervisor("devstack1").guests.delete(VM);
    lab.hypervisor("devstack2").addGuest(VM);
    await lab.hold(VM, {});
    lab.store.instances.destroy(VM);
    await restart();
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
    expect(["error", "failed"]).toContain(statusOf(move));
  });

  scenario(
    "2.6 upstream: aborted and forgotten, the allocations stay",
    async (lab) => {
      const live = new LiveHypervisors(lab);
      const { source } = await live.start();
      const move = await chosen(lab);
      lab.kill(source);
      lab.store.migrations.save(move.migration.id, { status: "running" });
      const quirks = ["leave-interrupted-live-migration-allocations"] as const;
      await lab.start("devstack1", live.options("devstack1", { config: { ...PERIODIC.config, quirks } }));
      await lab.world.advance(65_000);
      expect(statusOf(move)).toBe("error");
      expect(lab.instance(VM)).toMatchObject({ host: "devstack1", taskState: null });
      expect(await heldBy(move)).toEqual({
        instance: { [move.d.uuid]: AMOUNTS },
        migration: { [move.s.uuid]: AMOUNTS },
      });
    },
    ["V27"],
  );
});

scenario("6.5 OPT what a completed one has left on S, whose agent died before it was removed, goes", async (lab) => {
  const live = new LiveHypervisors(lab);
  const { source } = await live.start(PERIODIC);
  const move = await chosen(lab);
  lab.hypervisor("devstack1").failures.set("cleanup", () => new Error("the hypervisor is broken"));
  castLive(move);
  await reached(move, "completed");
  lab.kill(source);
  lab.hypervisor("devstack1").failures.delete("cleanup");
  lab.hypervisor("devstack1").addGuest(VM, 4);
  await lab.start("devstack1", live.options("devstack1", PERIODIC));
  await lab.world.advance(125_000);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(false);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
  expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(true);
});
