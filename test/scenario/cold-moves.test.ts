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
        async (lab) => {
          await startHosts(lab);
          const move = await resized(lab, { strategy, type });
          const { s, d, migration } = move;
          expect(lab.instance(VM)).toMatchObject({
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
          const finish = lab.hypervisor("devstack2").calls.find(({ method }) => method === "finishMigration");
          expect(finish, "disks grow with a flavor of larger ones").toMatchObject({
            resizeInstance: type === "resize",
          });
          expect(await heldBy(move)).toEqual(
            strategy === "split"
              ? { instance: { [d.uuid]: claimed }, migration: { [s.uuid]: OLD } }
              : { instance: { [s.uuid]: OLD, [d.uuid]: claimed }, migration: {} },
          );
          expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(OLD.VCPU);
          expect(nodeOf(lab, "devstack2").vcpusUsed).toBe(claimed.VCPU);

          castConfirm(move);
          await lab.world.runUntil(() => statusOf(move) === "confirmed" && lab.instance(VM).oldFlavor === null);
          expect(lab.instance(VM)).toMatchObject({
            host: "devstack2",
            vmState: "active",
            taskState: null,
            newFlavor: null,
            migrationContext: null,
          });
          expect(await heldBy(move)).toEqual({ instance: { [d.uuid]: claimed }, migration: {} });
          expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
          expect(lab.hypervisor("devstack2").guests.get(VM)?.power).toBe(1);
          expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(0);
          expect(nodeOf(lab, "devstack2").vcpusUsed).toBe(claimed.VCPU);
        },
      );

      scenario(
        `6.3 Revert ${type}, ${strategy}: back on the source with its flavor and its allocation`,
        async (lab) => {
          await startHosts(lab);
          const move = await resized(lab, { strategy, type });
          castRevert(move);
          await lab.world.runUntil(() => lab.instance(VM).taskState === null);
          expect(lab.instance(VM)).toMatchObject({
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
          expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
          expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
          expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(OLD.VCPU);
          expect(nodeOf(lab, "devstack2").vcpusUsed).toBe(0);
        },
      );
    }

    scenario(`6.4 same-host resize, ${strategy}: both halves counted, then one`, async (lab) => {
      await startHosts(lab);
      const move = await resized(lab, { strategy, sameHost: true });
      const { s } = move;
      expect(nodeOf(lab, "devstack1").vcpusUsed).toBe((OLD.VCPU ?? 0) + (NEW.VCPU ?? 0));
      castConfirm(move);
      await lab.world.runUntil(() => statusOf(move) === "confirmed" && lab.instance(VM).oldFlavor === null);
      expect(await heldBy(move)).toEqual({ instance: { [s.uuid]: NEW }, migration: {} });
      expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
      expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(NEW.VCPU);
    });

    scenario(`6.4 same-host resize reverted, ${strategy}`, async (lab) => {
      await startHosts(lab);
      const move = await resized(lab, { strategy, sameHost: true });
      castRevert(move);
      await lab.world.runUntil(() => lab.instance(VM).taskState === null);
      expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
      expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
      expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(true);
      expect(nodeOf(lab, "devstack1").vcpusUsed).toBe(OLD.VCPU);
    });
  }

  scenario(
    "6.3 OPT a next resize begins before a confirmation has cleared the flavors: it keeps its own",
    async (lab) => {
      await startHosts(lab);
      const move = await resized(lab);
      const { flavor } = lab.instance(VM);
      lab.beforePlacement = (host, request) => {
        if (host === "devstack1" && request.startsWith(`PUT /allocations/${move.migration.uuid}`)) {
          lab.store.instances.save(VM, { taskState: "resize_migrated", oldFlavor: flavor, newFlavor: flavor });
        }
      };
      castConfirm(move);
      await lab.world.runUntil(() => lab.instance(VM).taskState === "resize_migrated");
      await lab.world.advance(5_000);
      expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
      expect(lab.instance(VM)).toMatchObject({ oldFlavor: flavor, newFlavor: flavor });
    },
  );

  scenario("6.3 a stopped instance stays stopped through a move and its confirmation", async (lab) => {
    await startHosts(lab);
    const move = await resized(lab, { vmState: "stopped" });
    expect(lab.hypervisor("devstack2").guests.get(VM)?.power).toBe(4);
    castConfirm(move);
    await lab.world.runUntil(() => statusOf(move) === "confirmed");
    expect(lab.instance(VM)).toMatchObject({ vmState: "stopped", taskState: null, powerState: 4 });
  });
});
