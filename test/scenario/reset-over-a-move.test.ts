import { expect } from "vitest";
import { castPrep, castRevert, prepareMove, resized, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Lab } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** As `os-resetState` does, while the driver is at work. */
function resetDuring(lab: Lab, host: string, method: string, meanwhile: () => void = () => {}): void {
  lab.hypervisor(host).failures.set(method, () => {
    lab.store.instances.save(VM, { vmState: "active", taskState: null });
    meanwhile();
    return undefined;
  });
}

scenario("6.2 OPT a server that is reset while its revert destroys its guest: in error", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  lab.beforeCall = (host, method) => {
    if (host === "devstack2" && method === "save_together" && !lab.hypervisor("devstack2").guests.has(VM)) {
      lab.beforeCall = () => {};
      lab.store.instances.save(VM, { vmState: "active", taskState: null });
    }
  };
  castRevert(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario(
  "6.2 OPT a server that is reset in a move has its guest again, or is in error",
  async (lab) => {
    await startHosts(lab);
    const move = await prepareMove(lab);
    resetDuring(lab, "devstack1", "migrateDiskAndPowerOff", () => {
      lab.hypervisor("devstack1").failures.set("finishRevertMigration", () => {
        lab.hypervisor("devstack1").guests.delete(VM);
        return new Error("the hypervisor is broken");
      });
    });
    castPrep(move);
    await lab.world.runUntil(() => statusOf(move) === "error");
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    // The operator has said so before the allocations were given back.
  },
  ["V27"],
);

scenario("6.2 OPT a server that is reset while it is finished, with its guest here, stays active", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab);
  resetDuring(lab, "devstack2", "finishMigration");
  castPrep(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(true);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
});
