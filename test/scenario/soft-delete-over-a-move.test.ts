import { expect } from "vitest";
import { castPrep, heldBy, OLD, prepareMove, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { Lab } from "../unit/agent/support/lab.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** A move from devstack1 that a soft delete overtakes while the guest is set aside. */
async function overtaken(lab: Lab, meanwhile: () => void = () => {}) {
  await startHosts(lab);
  const move = await prepareMove(lab);
  lab.hypervisor("devstack1").failures.set("migrateDiskAndPowerOff", () => {
    lab.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
    const params = { instanceUuid: VM, requestId: "req-delete" };
    lab.controlPlane.conductor.bus.cast("devstack1", "soft_delete_instance", params, "req-delete");
    meanwhile();
    return undefined;
  });
  castPrep(move);
  return move;
}

const calls = (lab: Lab) => lab.hypervisor("devstack1").calls.map(({ method }) => method);
const powerOf = (lab: Lab) => lab.hypervisor("devstack1").guests.get(VM)?.power;

scenario("6.2 OPT a soft delete that overtakes a cold move, and fails: the guest runs as before", async (lab) => {
  const move = await overtaken(lab, () => {
    lab.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  });
  await lab.world.runUntil(() => lab.store.instances.fault(VM) !== null);
  await lab.world.advance(1_000);
  expect(calls(lab)).toContain("finishRevertMigration");
  expect(powerOf(lab)).toBe(1);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.2 OPT a soft delete that overtakes a cold move leaves a guest that can be restored", async (lab) => {
  const move = await overtaken(lab);
  await lab.world.runUntil(() => lab.instance(VM).vmState === "soft-delete");
  const [back, off] = ["finishRevertMigration", "powerOff"].map((method) => calls(lab).lastIndexOf(method));
  expect(back).toBeGreaterThan(0);
  expect(off).toBeGreaterThan(Number(back));
  expect(powerOf(lab)).toBe(4);
  expect(statusOf(move)).toBe("error");
});
