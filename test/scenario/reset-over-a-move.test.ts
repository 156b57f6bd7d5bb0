import { expect } from "vitest";
import { castPrep, castRevert, prepareMove, resized, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Resets the state as `os-resetState` does, during a driver call. */
function resetDuring(harness: Harness, host: string, method: string, meanwhile: () => void = () => {}): void {
  harness.hypervisor(host).failures.set(method, () => {
    harness.store.instances.save(VM, { vmState: "active", taskState: null });
    meanwhile();
    return undefined;
  });
}

scenario("6.2 OPT a server that is reset while its revert destroys its guest: in error", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  harness.beforeCall = (host, method) => {
    if (host === "devstack2" && method === "save_together" && !harness.hypervisor("devstack2").guests.has(VM)) {
      harness.beforeCall = () => {};
      harness.store.instances.save(VM, { vmState: "active", taskState: null });
    }
  };
  castRevert(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario(
  "6.2 OPT a server that is reset in a move has its guest again, or is in error",
  async (harness) => {
    await startHosts(harness);
    const move = await prepareMove(harness);
    resetDuring(harness, "devstack1", "migrateDiskAndPowerOff", () => {
      harness.hypervisor("devstack1").failures.set("finishRevertMigration", () => {
        harness.hypervisor("devstack1").guests.delete(VM);
        return new Error("the hypervisor is broken");
      });
    });
    castPrep(move);
    await harness.world.runUntil(() => statusOf(move) === "error");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    // The operator reset the state before the allocations were restored.
  },
  ["V27"],
);

scenario("6.2 OPT a server that is reset while it is finished, with its guest here, stays active", async (harness) => {
  await startHosts(harness);
  const move = await prepareMove(harness);
  resetDuring(harness, "devstack2", "finishMigration");
  castPrep(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(true);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
});
