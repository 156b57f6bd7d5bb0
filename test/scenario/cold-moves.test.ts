import { describe, expect } from "vitest";
import {
  castConfirm,
  castRevert,
  heldBy,
  NEW,
  OLD,
  resized,
  startHosts,
  statusOf,
  VM,
} from "../fixtures/cold-moves.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { scenario } from "../unit/agent/support/scenario.js";

const STRATEGIES = ["split", "doubled"] as const;
const TYPES = ["migration", "resize"] as const;

describe("6.3 cold migrate and resize", () => {
  for (const strategy of STRATEGIES) {
    for (const type of TYPES) {
      const claimed = type === "resize" ? NEW : OLD;
      scenario(
        `6.3 rows 4-8 ${type}, ${strategy}: prepared, moved, waiting for confirmation, confirmed`,
        async (harness) => {
          await startHosts(harness);
          const move = await resized(harness, { strategy, type });
          const { s, d, migration } = move;
          expect(harness.instance(VM)).toMatchObject({
            host: "devstack2",
            node: "devstack2",
            computeId: d.id,
            launchedOn: "devstack1",
            vmState: "resized",
            taskState: null,
            powerState: 1,
            flavor: { id: migration.newInstanceTypeId },
            oldFlavor: { id: migration.oldInstanceTypeId },
          });
          expect(statusOf(move)).toBe("finished");
          const finish = harness.hypervisor("devstack2").calls.find(({ method }) => method === "finishMigration");
          expect(finish, "disks grow with a flavor of larger ones").toMatchObject({
            resizeInstance: type === "resize",
          });
          expect(await heldBy(move)).toEqual(
            strategy === "split"
              ? { instance: { [d.uuid]: claimed }, migration: { [s.uuid]: OLD } }
              : { instance: { [s.uuid]: OLD, [d.uuid]: claimed }, migration: {} },
          );
          expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(OLD.VCPU);
          expect(nodeOf(harness, "devstack2").vcpusUsed).toBe(claimed.VCPU);

          castConfirm(move);
          await harness.world.runUntil(() => statusOf(move) === "confirmed" && harness.instance(VM).oldFlavor === null);
          expect(harness.instance(VM)).toMatchObject({
            host: "devstack2",
            vmState: "active",
            taskState: null,
            newFlavor: null,
            migrationContext: null,
          });
          expect(await heldBy(move)).toEqual({ instance: { [d.uuid]: claimed }, migration: {} });
          expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
          expect(harness.hypervisor("devstack2").guests.get(VM)?.power).toBe(1);
          expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
          expect(nodeOf(harness, "devstack2").vcpusUsed).toBe(claimed.VCPU);
        },
      );

      scenario(
        `6.3 Revert ${type}, ${strategy}: back on the source with its flavor and its allocation`,
        async (harness) => {
          await startHosts(harness);
          const move = await resized(harness, { strategy, type });
          castRevert(move);
          await harness.world.runUntil(() => harness.instance(VM).taskState === null);
          expect(harness.instance(VM)).toMatchObject({
            host: "devstack1",
            node: "devstack1",
            computeId: move.s.id,
            vmState: "active",
            taskState: null,
            flavor: { id: move.migration.oldInstanceTypeId },
            oldFlavor: null,
            newFlavor: null,
            migrationContext: null,
          });
          expect(statusOf(move)).toBe("reverted");
          expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
          expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
          expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
          expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(OLD.VCPU);
          expect(nodeOf(harness, "devstack2").vcpusUsed).toBe(0);
        },
      );
    }

    scenario(`6.4 same-host resize, ${strategy}: both halves counted, then one`, async (harness) => {
      await startHosts(harness);
      const move = await resized(harness, { strategy, sameHost: true });
      const { s } = move;
      expect(nodeOf(harness, "devstack1").vcpusUsed).toBe((OLD.VCPU ?? 0) + (NEW.VCPU ?? 0));
      castConfirm(move);
      await harness.world.runUntil(() => statusOf(move) === "confirmed" && harness.instance(VM).oldFlavor === null);
      expect(await heldBy(move)).toEqual({ instance: { [s.uuid]: NEW }, migration: {} });
      expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
      expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(NEW.VCPU);
    });

    scenario(`6.4 same-host resize reverted, ${strategy}`, async (harness) => {
      await startHosts(harness);
      const move = await resized(harness, { strategy, sameHost: true });
      castRevert(move);
      await harness.world.runUntil(() => harness.instance(VM).taskState === null);
      expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
      expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
      expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(true);
      expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(OLD.VCPU);
    });
  }

  scenario(
    "6.3 OPT a next resize begins before a confirmation has cleared the flavors: it keeps its own",
    async (harness) => {
      await startHosts(harness);
      const move = await resized(harness);
      const { flavor } = harness.instance(VM);
      harness.beforePlacement = (host, request) => {
        if (host === "devstack1" && request.startsWith(`PUT /allocations/${move.migration.uuid}`)) {
          harness.store.instances.save(VM, { taskState: "resize_migrated", oldFlavor: flavor, newFlavor: flavor });
        }
      };
      castConfirm(move);
      await harness.world.runUntil(() => harness.instance(VM).taskState === "resize_migrated");
      await harness.world.advance(5_000);
      expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
      expect(harness.instance(VM)).toMatchObject({ oldFlavor: flavor, newFlavor: flavor });
    },
  );

  scenario("6.3 a stopped instance stays stopped through a move and its confirmation", async (harness) => {
    await startHosts(harness);
    const move = await resized(harness, { vmState: "stopped" });
    expect(harness.hypervisor("devstack2").guests.get(VM)?.power).toBe(4);
    castConfirm(move);
    await harness.world.runUntil(() => statusOf(move) === "confirmed");
    expect(harness.instance(VM)).toMatchObject({ vmState: "stopped", taskState: null, powerState: 4 });
  });
});
