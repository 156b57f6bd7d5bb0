import { expect } from "vitest";
import {
  type ColdMove,
  castConfirm,
  castPrep,
  castRevert,
  NEW,
  prepareMove,
  resized,
  startHosts,
  statusOf,
  VM,
} from "../fixtures/cold-moves.js";
import { LiveHypervisors, REQUEST } from "../fixtures/live-migrations.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { scenario } from "../unit/agent/support/scenario.js";

const broken = new Error("the hypervisor is broken");

/** Starts a resize from devstack1 to devstack2, up to its claim. */
async function moving(harness: Harness): Promise<ColdMove> {
  const move = await prepareMove(harness);
  castPrep(move);
  return move;
}

/** Creates a resize that waits for confirmation, and requests its confirmation or revert. */
async function ending(harness: Harness, cast: (move: ColdMove) => void): Promise<ColdMove> {
  const move = await resized(harness);
  cast(move);
  return move;
}

for (const [name, at, begin] of [
  ["moving the disk", ["devstack1", "migrateDiskAndPowerOff"], moving],
  ["finishing", ["devstack2", "finishMigration"], moving],
  ["confirming", ["devstack1", "confirmMigration"], (harness: Harness) => ending(harness, castConfirm)],
  ["reverting, on the destination", ["devstack2", "destroy"], (harness: Harness) => ending(harness, castRevert)],
  [
    "reverting, on the source",
    ["devstack1", "finishRevertMigration"],
    (harness: Harness) => ending(harness, castRevert),
  ],
] as const) {
  scenario(`6.3, 4.5 a resize that fails in ${name} leaves no context`, async (harness) => {
    await startHosts(harness);
    harness.hypervisor(at[0]).failures.set(at[1], () => broken);
    await begin(harness);
    await harness.world.runUntil(() => harness.instance(VM).vmState === "error");
    await harness.world.advance(1_000);
    expect(harness.instance(VM)).toMatchObject({ vmState: "error", taskState: null, migrationContext: null });
  });
}

/** The operator makes an instance usable before its allocations are restored. */
const RESET = ["V27"];

const RESET_NAME = "6.3, 4.5 a resize whose instance an operator resets while the disk moves leaves no context";
scenario(
  RESET_NAME,
  async (harness) => {
    await startHosts(harness);
    harness.hypervisor("devstack1").failures.set("migrateDiskAndPowerOff", () => {
      harness.store.instances.save(VM, { vmState: "active", taskState: null });
      return undefined;
    });
    const move = await moving(harness);
    await harness.world.runUntil(() => statusOf(move) === "error");
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null, migrationContext: null });
  },
  RESET,
);

/** Writes the context as an older release left it. */
function leaveContext(harness: Harness, { migration }: ColdMove): void {
  const none = { oldNumaTopology: null, newNumaTopology: null, oldPciDevices: [], newPciDevices: [] };
  const context = { instanceUuid: VM, migrationId: migration.id, ...none, oldResources: [], newResources: [] };
  harness.store.instances.save(VM, { migrationContext: context });
}

for (const left of [false, true]) {
  const history = left ? "whose context an older release left behind" : "that failed";
  scenario(
    `4.5, 6.5 after a resize ${history}, a live migration outlives tracker passes and its source`,
    async (harness) => {
      const live = new LiveHypervisors(harness);
      const passes = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
      await harness.start("devstack1", live.options("devstack1"));
      await harness.start("devstack3", live.options("devstack3"));
      const source = await harness.start("devstack2", live.options("devstack2", passes));
      harness.hypervisor("devstack2").failures.set("finishMigration", () => broken);
      const failed = await moving(harness);
      await harness.world.runUntil(() => harness.instance(VM).vmState === "error");
      harness.hypervisor("devstack2").addGuest(VM);
      harness.hypervisor("devstack1").guests.delete(VM);
      if (left) {
        leaveContext(harness, failed);
      }
      // os-resetState, then os-migrateLive to devstack3.
      harness.store.instances.save(VM, { vmState: "active", taskState: null });
      const { d: from } = failed;
      const to = nodeOf(harness, "devstack3");
      harness.store.instances.save(VM, { taskState: "migrating" });
      const changes = { sourceCompute: from.host, sourceNode: from.hypervisorHostname, destCompute: to.host };
      const migration = harness.store.migrations.create({
        instanceUuid: VM,
        migrationType: "live-migration",
        status: "accepted",
        changes: { ...changes, destNode: to.hypervisorHostname, destComputeId: to.id },
      });
      await harness.hold(VM, {});
      await harness.hold(migration.uuid, { [from.uuid]: NEW });
      await harness.hold(VM, { [to.uuid]: NEW });
      live.plan.seconds = 600;
      const message = { instanceUuid: VM, migrationId: migration.id, dest: to.host, blockMigration: null, data: {} };
      const params = { ...message, requestId: REQUEST };
      harness.controlPlane.conductor.bus.cast(from.host, "live_migration", params, REQUEST);
      await harness.world.advance(150_000);
      expect(harness.store.migrations.get(migration.id)?.status).toBe("running");
      harness.kill(source);
      await harness.start("devstack2", live.options("devstack2", passes));
      await harness.world.advance(120_000);
      expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
      expect(await harness.held(VM)).toEqual({ [from.uuid]: NEW });
      expect(await harness.held(migration.uuid)).toEqual({});
    },
  );
}
