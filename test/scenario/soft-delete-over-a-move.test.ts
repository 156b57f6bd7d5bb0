import { expect } from "vitest";
import {
  BIGGER,
  castPrep,
  castRevert,
  heldBy,
  NEW,
  OLD,
  prepareMove,
  resized,
  startHosts,
  statusOf,
  VM,
} from "../fixtures/cold-moves.js";
import type { Lab } from "../unit/agent/support/harness.js";
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

/** A soft delete of an instance on devstack2, which waits for its turn and then fails. */
function softDelete(lab: Lab): void {
  lab.hypervisor("devstack2").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  softDeleteOn(lab, "devstack2");
}

function softDeleteOn(lab: Lab, host: string): void {
  lab.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
  const params = { instanceUuid: VM, requestId: "req-delete" };
  lab.controlPlane.conductor.bus.cast(host, "soft_delete_instance", params, "req-delete");
}

scenario("6.2 OPT a soft delete that overtakes a revert without its guest, and fails: in error", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  lab.hypervisor("devstack2").failures.set("destroy", () => {
    softDelete(lab);
    return undefined;
  });
  castRevert(move);
  await lab.world.runUntil(() => lab.instance(VM).taskState === null);
  expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(false);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
});

scenario("6.2 OPT a soft delete that overtakes a move that has arrived, and fails: in error, with F1", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab);
  lab.beforeCall = (_, called) => {
    if (called === "finish_resize") {
      softDelete(lab);
    }
  };
  castPrep(move);
  await lab.world.runUntil(() => statusOf(move) === "error" && lab.instance(VM).taskState === null);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", flavor: { id: BIGGER.id } });
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
});

/** A revert whose source does not come for its guest: the destination has given up its own. */
async function revertedHalfway(lab: Lab) {
  const source = await lab.start("devstack1", { operations: "real" });
  await lab.start("devstack2", { operations: "real" });
  const move = await resized(lab);
  lab.kill(source);
  castRevert(move);
  await lab.world.runUntil(() => statusOf(move) === "reverted");
  return move;
}

scenario("6.2 OPT a soft delete that overtakes a revert before its source, and fails: in error", async (lab) => {
  const move = await revertedHalfway(lab);
  softDelete(lab);
  await lab.world.runUntil(() => lab.instance(VM).taskState === null);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  await lab.world.advance(60_000);
  await lab.start("devstack1", { operations: "real" });
  await lab.world.advance(60_000);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario("6.2 OPT a soft delete of a server whose revert is long over lets it be", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  castRevert(move);
  await lab.world.runUntil(() => lab.instance(VM).vmState === "active");
  lab.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  softDeleteOn(lab, "devstack1");
  await lab.world.runUntil(() => lab.instance(VM).taskState === null);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active" });
  expect(statusOf(move)).toBe("reverted");
});

scenario("6.2 OPT a soft delete finds a revert whose source has died at home: in error, with its half", async (lab) => {
  const source = await lab.start("devstack1", { operations: "real" });
  await lab.start("devstack2", { operations: "real" });
  const move = await resized(lab);
  lab.afterCall = (host, method) => {
    if (host === "devstack1" && method === "save_together" && lab.instance(VM).host === "devstack1") {
      lab.kill(source);
      softDeleteOn(lab, "devstack1");
      return new Promise<never>(() => {});
    }
    return undefined;
  };
  castRevert(move);
  await lab.world.runUntil(() => !source.runtime.alive);
  lab.afterCall = () => {};
  lab.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  await lab.world.advance(60_000);
  await lab.start("devstack1", { operations: "real" });
  await lab.world.runUntil(() => lab.instance(VM).taskState === null);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", oldFlavor: null, newFlavor: null });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario(
  "6.2 OPT a soft delete that overtakes a move whose guest does not come back, and fails: in error",
  async (lab) => {
    const move = await overtaken(lab, () => {
      for (const method of ["powerOff", "finishRevertMigration"]) {
        lab.hypervisor("devstack1").failures.set(method, () => new Error("the hypervisor is broken"));
      }
    });
    await lab.world.runUntil(() => lab.instance(VM).taskState === null);
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error" });
    expect(statusOf(move)).toBe("error");
  },
);

scenario(
  "6.2 OPT a soft delete that cannot ask for the move that it has overtaken ends it all the same",
  async (lab) => {
    const move = await revertedHalfway(lab);
    let asked = 0;
    lab.beforeCall = (host, method) => {
      if (host === "devstack2" && method === "migrations_by_filters" && asked++ === 0) {
        throw new Error("the conductor is broken");
      }
    };
    softDelete(lab);
    await lab.world.runUntil(() => lab.instance(VM).taskState === null);
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
    expect(statusOf(move)).toBe("error");
  },
);

scenario("6.2 OPT a soft delete that fails, and finds no guest: in error", async (lab) => {
  await startHosts(lab);
  await resized(lab);
  lab.hypervisor("devstack2").guests.delete(VM);
  softDelete(lab);
  await lab.world.runUntil(() => lab.instance(VM).taskState === null);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
});
