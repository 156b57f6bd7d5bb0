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
import type { Harness } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Creates a move from devstack1 that a soft delete supersedes while the guest is set aside. */
async function supersedeMove(harness: Harness, meanwhile: () => void = () => {}) {
  await startHosts(harness);
  const move = await prepareMove(harness);
  harness.hypervisor("devstack1").failures.set("migrateDiskAndPowerOff", () => {
    harness.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
    const params = { instanceUuid: VM, requestId: "req-delete" };
    harness.controlPlane.conductor.bus.cast("devstack1", "soft_delete_instance", params, "req-delete");
    meanwhile();
    return undefined;
  });
  castPrep(move);
  return move;
}

const calls = (harness: Harness) => harness.hypervisor("devstack1").calls.map(({ method }) => method);
const powerOf = (harness: Harness) => harness.hypervisor("devstack1").guests.get(VM)?.power;

scenario("6.2 OPT a soft delete that overtakes a cold move, and fails: the guest runs as before", async (harness) => {
  const move = await supersedeMove(harness, () => {
    harness.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  });
  await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
  await harness.world.advance(1_000);
  expect(calls(harness)).toContain("finishRevertMigration");
  expect(powerOf(harness)).toBe(1);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.2 OPT a soft delete that overtakes a cold move leaves a guest that can be restored", async (harness) => {
  const move = await supersedeMove(harness);
  await harness.world.runUntil(() => harness.instance(VM).vmState === "soft-delete");
  const [back, off] = ["finishRevertMigration", "powerOff"].map((method) => calls(harness).lastIndexOf(method));
  expect(back).toBeGreaterThan(0);
  expect(off).toBeGreaterThan(Number(back));
  expect(powerOf(harness)).toBe(4);
  expect(statusOf(move)).toBe("error");
});

/** Sends a soft delete of an instance on devstack2, which is queued and then fails. */
function softDelete(harness: Harness): void {
  harness.hypervisor("devstack2").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  softDeleteOn(harness, "devstack2");
}

function softDeleteOn(harness: Harness, host: string): void {
  harness.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-delete" });
  const params = { instanceUuid: VM, requestId: "req-delete" };
  harness.controlPlane.conductor.bus.cast(host, "soft_delete_instance", params, "req-delete");
}

scenario("6.2 OPT a soft delete that overtakes a revert without its guest, and fails: in error", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  harness.hypervisor("devstack2").failures.set("destroy", () => {
    softDelete(harness);
    return undefined;
  });
  castRevert(move);
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(false);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
});

scenario(
  "6.2 OPT a soft delete that overtakes a move that has arrived, and fails: in error, with F1",
  async (harness) => {
    await startHosts(harness);
    const move = await prepareMove(harness);
    harness.beforeCall = (_, called) => {
      if (called === "finish_resize") {
        softDelete(harness);
      }
    };
    castPrep(move);
    await harness.world.runUntil(() => statusOf(move) === "error" && harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", flavor: { id: BIGGER.id } });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  },
);

/** Creates a revert that the source does not finish: the destination has already destroyed its guest. */
async function revertedHalfway(harness: Harness) {
  const source = await harness.start("devstack1", { operations: "real" });
  await harness.start("devstack2", { operations: "real" });
  const move = await resized(harness);
  harness.kill(source);
  castRevert(move);
  await harness.world.runUntil(() => statusOf(move) === "reverted");
  return move;
}

scenario("6.2 OPT a soft delete that overtakes a revert before its source, and fails: in error", async (harness) => {
  const move = await revertedHalfway(harness);
  softDelete(harness);
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
  expect(statusOf(move)).toBe("error");
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  await harness.world.advance(60_000);
  await harness.start("devstack1", { operations: "real" });
  await harness.world.advance(60_000);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario("6.2 OPT a soft delete of a server whose revert is long over lets it be", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  castRevert(move);
  await harness.world.runUntil(() => harness.instance(VM).vmState === "active");
  harness.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
  softDeleteOn(harness, "devstack1");
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active" });
  expect(statusOf(move)).toBe("reverted");
});

scenario(
  "6.2 OPT a soft delete finds a revert whose source has died at home: in error, with its half",
  async (harness) => {
    const source = await harness.start("devstack1", { operations: "real" });
    await harness.start("devstack2", { operations: "real" });
    const move = await resized(harness);
    harness.afterCall = (host, method) => {
      if (host === "devstack1" && method === "save_together" && harness.instance(VM).host === "devstack1") {
        harness.kill(source);
        softDeleteOn(harness, "devstack1");
        return new Promise<never>(() => {});
      }
      return undefined;
    };
    castRevert(move);
    await harness.world.runUntil(() => !source.runtime.alive);
    harness.afterCall = () => {};
    harness.hypervisor("devstack1").failures.set("powerOff", () => new Error("the hypervisor is broken"));
    await harness.world.advance(60_000);
    await harness.start("devstack1", { operations: "real" });
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "error",
      oldFlavor: null,
      newFlavor: null,
    });
    expect(statusOf(move)).toBe("error");
    expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
  },
);

scenario(
  "6.2 OPT a soft delete that overtakes a move whose guest does not come back, and fails: in error",
  async (harness) => {
    const move = await supersedeMove(harness, () => {
      for (const method of ["powerOff", "finishRevertMigration"]) {
        harness.hypervisor("devstack1").failures.set(method, () => new Error("the hypervisor is broken"));
      }
    });
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error" });
    expect(statusOf(move)).toBe("error");
  },
);

scenario(
  "6.2 OPT a soft delete that cannot ask for the move that it has overtaken ends it all the same",
  async (harness) => {
    const move = await revertedHalfway(harness);
    let callCount = 0;
    harness.beforeCall = (host, method) => {
      if (host === "devstack2" && method === "migrations_by_filters" && callCount++ === 0) {
        throw new Error("the conductor is broken");
      }
    };
    softDelete(harness);
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
    expect(statusOf(move)).toBe("error");
  },
);

scenario("6.2 OPT a soft delete that fails, and finds no guest: in error", async (harness) => {
  await startHosts(harness);
  await resized(harness);
  harness.hypervisor("devstack2").guests.delete(VM);
  softDelete(harness);
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error" });
});
