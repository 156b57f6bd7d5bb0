import { expect } from "vitest";
import { ConductorError } from "../../src/conductor-client/errors.js";
import { ComputeResourcesUnavailable, InstanceFaultRollback } from "../../src/virt/errors.js";
import {
  BIGGER,
  castConfirm,
  castPrep,
  castRevert,
  heldBy,
  type MoveOptions,
  NEW,
  OLD,
  prepareMove,
  REQUEST,
  resized,
  startHosts,
  statusOf,
  VM,
} from "../fixtures/cold-moves.js";
import type { ConfigChanges } from "../fixtures/world/nova-config.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { FLAVOR } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const RETRY = { numAttempts: 1, hosts: [["devstack2", "devstack2"]] } as const;

/** Starts hosts and a move in which a driver's method fails. */
async function failing(
  harness: Harness,
  at: { readonly host: string; readonly method: string; readonly error: Error },
  options: MoveOptions & { readonly quirks?: ConfigChanges["quirks"] } = {},
) {
  await startHosts(harness, { config: { quirks: options.quirks ?? [] } });
  harness.hypervisor(at.host).failures.set(at.method, () => at.error);
  const move = await prepareMove(harness, options);
  castPrep(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  await harness.world.advance(1_000);
  return move;
}

const broken = new Error("the hypervisor is broken");
const fault = (harness: Harness) => harness.store.instances.fault(VM);

for (const strategy of ["split", "doubled"] as const) {
  scenario(`6.3 row 5 ${strategy}: the disk cannot be moved: vm error, host S, allocations back`, async (harness) => {
    const move = await failing(
      harness,
      { host: "devstack1", method: "migrateDiskAndPowerOff", error: broken },
      { strategy },
    );
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "error",
      taskState: null,
      newFlavor: null,
      migrationContext: null,
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
  });

  scenario(
    `6.3 row 7 ${strategy}: finishing fails: vm error, host D, I keeps F1 there (bug 1825537)`,
    async (harness) => {
      const move = await failing(
        harness,
        { host: "devstack2", method: "finishMigration", error: broken },
        { strategy },
      );
      expect(harness.instance(VM)).toMatchObject({
        host: "devstack2",
        vmState: "error",
        taskState: null,
        flavor: { id: BIGGER.id },
      });
      expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
    },
  );
}

scenario("6.3 row 5 the driver says that nothing happened: the instance keeps its vm_state", async (harness) => {
  const error = new InstanceFaultRollback("no", { cause: new Error("the disk is busy") });
  const move = await failing(harness, { host: "devstack1", method: "migrateDiskAndPowerOff", error });
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.3 row 7 upstream restores the flavor after a failed finish, although I holds F1", async (harness) => {
  const move = await failing(
    harness,
    { host: "devstack2", method: "finishMigration", error: broken },
    { quirks: ["restore-flavor-after-failed-finish"] },
  );
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", instanceTypeId: OLD.VCPU });
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
});

for (const quirk of [false, true]) {
  const what = quirk ? "upstream moves M to I although the host is D" : "as when finishing fails";
  scenario(`6.3 row 6 the message to D cannot be sent after the host changed: ${what}`, async (harness) => {
    await startHosts(harness, { config: { quirks: quirk ? ["undo-resize-after-host-flip"] : [] } });
    harness.beforeCall = (_host, method) => {
      if (method === "finish_resize") {
        throw new Error("no such exchange");
      }
    };
    const move = await prepareMove(harness);
    castPrep(move);
    await harness.world.runUntil(() => statusOf(move) === "error");
    const flavor = { id: quirk ? FLAVOR.id : BIGGER.id };
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null, flavor });
    expect(await heldBy(move)).toEqual({
      instance: quirk ? { [move.s.uuid]: OLD } : { [move.d.uuid]: NEW },
      migration: {},
    });
  });
}

/** Starts a move whose claim on devstack2 is rejected. */
async function moveWithRejectedClaim(harness: Harness, options: MoveOptions, cast = true) {
  await startHosts(harness);
  harness.beforeCall = (host, method, params) => {
    const claims = method === "save_together" && JSON.stringify(params).includes("destComputeId");
    if (host === "devstack2" && claims) {
      throw new ComputeResourcesUnavailable("no room");
    }
  };
  const move = await prepareMove(harness, options);
  if (cast) {
    castPrep(move);
  }
  return move;
}

/** Records the user's request, to which the destination's event belongs. */
function recordRequest(harness: Harness, name = "compute_prep_resize") {
  const { projectId, userId } = harness.instance(VM);
  const { id } = harness.store.actions.start({
    action: "resize",
    instanceUuid: VM,
    requestId: REQUEST,
    projectId,
    userId,
  });
  return () => harness.store.actions.events(id).find(({ event }) => event === name);
}

scenario("6.3 row 4: the event of a failure tells administrators where it came from", async (harness) => {
  const move = await moveWithRejectedClaim(harness, {}, false);
  const event = recordRequest(harness);
  castPrep(move);
  await harness.world.runUntil(() => event()?.finishTime != null);
  expect(event()).toMatchObject({
    result: "Error",
    details: "no room",
    traceback: expect.stringMatching(/^ComputeResourcesUnavailable: no room\n {4}at /),
  });
});

scenario("6.3 row 4: an instance that somebody else has taken: the event is an error", async (harness) => {
  await startHosts(harness);
  const move = await prepareMove(harness);
  const event = recordRequest(harness);
  harness.store.instances.save(VM, { taskState: "deleting" });
  castPrep(move);
  await harness.world.runUntil(() => event()?.finishTime != null);
  expect(event()).toMatchObject({ result: "Error", details: expect.stringContaining("task_state deleting") });
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "deleting" });
});

for (const [row, method, name, taken] of [
  ["5", "resize_instance", "compute_resize_instance", { taskState: "deleting" }],
  ["7", "finish_resize", "compute_finish_resize", { taskState: "deleting" }],
] as const) {
  scenario(`6.3 row ${row}: an instance that somebody else has taken: the event is an error`, async (harness) => {
    await startHosts(harness);
    const move = await prepareMove(harness);
    const event = recordRequest(harness, name);
    harness.beforeCall = (_, called) => {
      if (called === method) {
        harness.store.instances.save(VM, taken);
      }
    };
    castPrep(move);
    await harness.world.runUntil(() => event()?.finishTime != null);
    expect(event()).toMatchObject({ result: "Error", details: expect.stringMatching(/task_state.*deleting/) });
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "deleting" });
  });
}

/** Writes the records of an evacuation to the move's destination, before its agent receives the message. */
function evacuates(harness: Harness): void {
  harness.store.instances.save(VM, { taskState: "rebuilding", taskRequestId: "req-evacuate" });
  harness.store.migrations.create({
    instanceUuid: VM,
    migrationType: "evacuation",
    status: "accepted",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
  });
}

for (const [row, host, step] of [
  ["4 before its claim", "devstack2", "resize_claim"],
  ["4 after its claim", "devstack2", "resize_instance"],
  ["5", "devstack1", "migrateDiskAndPowerOff"],
  ["7", "devstack2", "finishMigration"],
] as const) {
  scenario(
    `6.3 row ${row}: what fails while the instance is evacuated leaves it to the evacuation`,
    async (harness) => {
      await startHosts(harness);
      const fail = () => {
        evacuates(harness);
        return broken;
      };
      harness.hypervisor(host).failures.set(step, fail);
      harness.beforeCall = (caller, method, params) => {
        const claims = method === "save_together" && JSON.stringify(params).includes("destComputeId");
        if (caller === host && step === (claims ? "resize_claim" : method) && statusOf(move) === "pre-migrating") {
          throw fail();
        }
      };
      // The instance's allocations on the destination belong to the evacuation by then.
      const move = await prepareMove(harness, { strategy: "doubled" });
      castPrep(move);
      await harness.world.runUntil(() => statusOf(move) === "error");
      await harness.world.advance(1_000);
      expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "rebuilding" });
      expect(Object.keys((await heldBy(move)).instance)).toContain(move.d.uuid);
    },
  );
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `6.3 Revert ${strategy}: D fails after it destroyed the guest: vm error on D, which I holds still`,
    async (harness) => {
      await startHosts(harness);
      const move = await resized(harness, { strategy });
      harness.beforeCall = (caller, _method, params) => {
        if (caller === "devstack2" && JSON.stringify(params).includes('"reverted"')) {
          throw broken;
        }
      };
      castRevert(move);
      await harness.world.runUntil(() => statusOf(move) === "error");
      expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
      expect((await heldBy(move)).instance).toMatchObject({ [move.d.uuid]: NEW });
    },
  );
}

scenario("6.3 row 4: the conductor takes it and has this host's word on how it ends", async (harness) => {
  const move = await moveWithRejectedClaim(harness, { retry: RETRY }, false);
  const event = recordRequest(harness);
  castPrep(move);
  const taken = () => harness.store.tasks.pending().map(({ task }) => task);
  await harness.world.runUntil(() => taken().length > 0);
  await harness.world.advance(1_000);
  expect(taken()).toMatchObject([
    {
      kind: "migrate_server",
      failure: { host: "devstack2", node: "devstack2", message: "no room", rollback: false, eventId: event()?.id },
    },
  ]);
  // The conductor ends it, and no start of this host claims the move.
  expect(event()).toMatchObject({ finishTime: null, result: null });
  expect(harness.store.migrations.get(move.migration.id)).toMatchObject({ destCompute: null, destNode: null });
});

scenario("6.3 row 4: when nobody knows whether the conductor took it, nothing more is written", async (harness) => {
  await moveWithRejectedClaim(harness, { retry: RETRY });
  const inner = harness.beforeCall;
  let requested = false;
  harness.beforeCall = async (host, method, params) => {
    await inner(host, method, params);
    if (method !== "migrate_server") {
      return;
    }
    requested = true;
    throw new ConductorError("MessagingTimeout", "no answer");
  };
  await harness.world.runUntil(() => requested);
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "resize_prep" });
});

scenario("6.3 row 4 no retry: allocations back, vm error, migration error", async (harness) => {
  const move = await moveWithRejectedClaim(harness, {});
  await harness.world.runUntil(() => statusOf(move) === "error");
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null, newFlavor: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
  expect(fault(harness)?.message).toBe("no room");
});

scenario("6.3 row 4 with retry: allocations back first, then the conductor is asked (bug 1741125)", async (harness) => {
  const observedAllocations: unknown[] = [];
  const move = await moveWithRejectedClaim(harness, { retry: RETRY });
  const inner = harness.beforeCall;
  harness.beforeCall = async (host, method, params) => {
    await inner(host, method, params);
    if (method === "migrate_server") {
      observedAllocations.push(await heldBy(move));
    }
  };
  await harness.world.runUntil(() => observedAllocations.length > 0);
  await harness.world.advance(1_000);
  expect(observedAllocations).toEqual([{ instance: { [move.s.uuid]: OLD }, migration: {} }]);
  expect(statusOf(move)).toBe("pre-migrating");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: "resize_prep" });
});

scenario("6.3 a cold migration to its own host needs a driver that can: vm unchanged", async (harness) => {
  await startHosts(harness);
  const move = await prepareMove(harness, { type: "migration", sameHost: true });
  castPrep(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario(
  "6.3 Confirm: the driver raises: vm error, migration error, and M goes all the same (bug 1821594)",
  async (harness) => {
    await startHosts(harness);
    const move = await resized(harness);
    harness.hypervisor("devstack1").failures.set("confirmMigration", () => broken);
    castConfirm(move);
    await harness.world.runUntil(() => statusOf(move) === "error");
    await harness.world.advance(1_000);
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack2",
      vmState: "error",
      oldFlavor: null,
      newFlavor: null,
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  },
);

scenario("6.3 Revert: the destination's driver raises: vm error, migration error, host D", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  harness.hypervisor("devstack2").failures.set("destroy", () => broken);
  castRevert(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario("6.3 Revert: the source's driver raises: vm error, host S, with its allocation", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  harness.hypervisor("devstack1").failures.set("finishRevertMigration", () => broken);
  castRevert(move);
  await harness.world.runUntil(() => statusOf(move) === "error");
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null, oldFlavor: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("9.2 1848343 deleted while its allocations went back: they are deleted again", async (harness) => {
  await startHosts(harness);
  const move = await resized(harness);
  harness.afterPlacement = (host, request) => {
    if (host === "devstack1" && request === "POST /allocations") {
      harness.store.instances.destroy(VM);
    }
  };
  castRevert(move);
  await harness.world.advance(60_000);
  expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
});

scenario(
  "6.3 row 4: deleted between the destination's reads and its move of the allocations: M is dropped",
  async (harness) => {
    const move = await moveWithRejectedClaim(harness, {}, false);
    harness.beforePlacement = async (host, request) => {
      if (host !== "devstack2" || request !== "POST /allocations" || harness.instance(VM).deleted !== 0) {
        return;
      }
      // As an agent deletes (V23): first the instance's allocations, then its row.
      harness.store.instances.save(VM, { vmState: "deleted", taskState: null });
      await harness.hold(VM, {});
      harness.store.instances.destroy(VM);
    };
    castPrep(move);
    await harness.world.advance(120_000);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    expect(statusOf(move)).toBe("error");
  },
);
