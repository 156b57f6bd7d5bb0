import { expect } from "vitest";
import { MessagingTimeout } from "../../src/conductor-client/errors.js";
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
import type { Lab } from "../unit/agent/support/harness.js";
import { FLAVOR } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const RETRY = { numAttempts: 1, hosts: [["devstack2", "devstack2"]] } as const;

/** Starts hosts and a move in which a driver's method fails. */
async function failing(
  lab: Lab,
  at: { readonly host: string; readonly method: string; readonly error: Error },
  options: MoveOptions & { readonly quirks?: ConfigChanges["quirks"] } = {},
) {
  await startHosts(lab, { config: { quirks: options.quirks ?? [] } });
  lab.hypervisor(at.host).failures.set(at.method, () => at.error);
  const move = await prepareMove(lab, options);
  castPrep(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  await lab.world.advance(1_000);
  return move;
}

const broken = new Error("the hypervisor is broken");
const fault = (lab: Lab) => lab.store.instances.fault(VM);

for (const strategy of ["split", "doubled"] as const) {
  scenario(`6.3 row 5 ${strategy}: the disk cannot be moved: vm error, host S, allocations back`, async (lab) => {
    const move = await failing(
      lab,
      { host: "devstack1", method: "migrateDiskAndPowerOff", error: broken },
      { strategy },
    );
    expect(lab.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "error",
      taskState: null,
      newFlavor: null,
      migrationContext: null,
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
  });

  scenario(`6.3 row 7 ${strategy}: finishing fails: vm error, host D, I keeps F1 there (bug 1825537)`, async (lab) => {
    const move = await failing(lab, { host: "devstack2", method: "finishMigration", error: broken }, { strategy });
    expect(lab.instance(VM)).toMatchObject({
      host: "devstack2",
      vmState: "error",
      taskState: null,
      flavor: { id: BIGGER.id },
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  });
}

scenario("6.3 row 5 the driver says that nothing happened: the instance keeps its vm_state", async (lab) => {
  const error = new InstanceFaultRollback("no", { cause: new Error("the disk is busy") });
  const move = await failing(lab, { host: "devstack1", method: "migrateDiskAndPowerOff", error });
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.3 row 7 upstream restores the flavor after a failed finish, although I holds F1", async (lab) => {
  const move = await failing(
    lab,
    { host: "devstack2", method: "finishMigration", error: broken },
    { quirks: ["restore-flavor-after-failed-finish"] },
  );
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", instanceTypeId: OLD.VCPU });
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
});

for (const quirk of [false, true]) {
  const what = quirk ? "upstream moves M to I although the host is D" : "as when finishing fails";
  scenario(`6.3 row 6 the message to D cannot be sent after the host changed: ${what}`, async (lab) => {
    await startHosts(lab, { config: { quirks: quirk ? ["undo-resize-after-host-flip"] : [] } });
    lab.beforeCall = (_host, method) => {
      if (method === "finish_resize") {
        throw new Error("no such exchange");
      }
    };
    const move = await prepareMove(lab);
    castPrep(move);
    await lab.world.runUntil(() => statusOf(move) === "error");
    const flavor = { id: quirk ? FLAVOR.id : BIGGER.id };
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null, flavor });
    expect(await heldBy(move)).toEqual({
      instance: quirk ? { [move.s.uuid]: OLD } : { [move.d.uuid]: NEW },
      migration: {},
    });
  });
}

/** A claim on devstack2 that is refused. */
async function refusedClaim(lab: Lab, options: MoveOptions, cast = true) {
  await startHosts(lab);
  lab.beforeCall = (host, method, params) => {
    const claims = method === "save_together" && JSON.stringify(params).includes("destComputeId");
    if (host === "devstack2" && claims) {
      throw new ComputeResourcesUnavailable("no room");
    }
  };
  const move = await prepareMove(lab, options);
  if (cast) {
    castPrep(move);
  }
  return move;
}

/** The request of the user, to which the destination's event belongs. */
function recordRequest(lab: Lab, name = "compute_prep_resize") {
  const { projectId, userId } = lab.instance(VM);
  const { id } = lab.store.actions.start({
    action: "resize",
    instanceUuid: VM,
    requestId: REQUEST,
    projectId,
    userId,
  });
  return () => lab.store.actions.events(id).find(({ event }) => event === name);
}

scenario("6.3 row 4: the event of a failure tells administrators where it came from", async (lab) => {
  const move = await refusedClaim(lab, {}, false);
  const event = recordRequest(lab);
  castPrep(move);
  await lab.world.runUntil(() => event()?.finishTime != null);
  expect(event()).toMatchObject({
    result: "Error",
    details: "no room",
    traceback: expect.stringMatching(/^ComputeResourcesUnavailable: no room\n {4}at /),
  });
});

scenario("6.3 row 4: an instance that somebody else has taken: the event is an error", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab);
  const event = recordRequest(lab);
  lab.store.instances.save(VM, { taskState: "deleting" });
  castPrep(move);
  await lab.world.runUntil(() => event()?.finishTime != null);
  expect(event()).toMatchObject({ result: "Error", details: expect.stringContaining("task_state deleting") });
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "deleting" });
});

for (const [row, method, name, taken] of [
  ["5", "resize_instance", "compute_resize_instance", { taskState: "deleting" }],
  ["7", "finish_resize", "compute_finish_resize", { taskState: "deleting" }],
] as const) {
  scenario(`6.3 row ${row}: an instance that somebody else has taken: the event is an error`, async (lab) => {
    await startHosts(lab);
    const move = await prepareMove(lab);
    const event = recordRequest(lab, name);
    lab.beforeCall = (_, called) => {
      if (called === method) {
        lab.store.instances.save(VM, taken);
      }
    };
    castPrep(move);
    await lab.world.runUntil(() => event()?.finishTime != null);
    expect(event()).toMatchObject({ result: "Error", details: expect.stringMatching(/task_state.*deleting/) });
    expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "deleting" });
  });
}

/** What an evacuation to the move's destination writes before its agent hears of it. */
function evacuates(lab: Lab): void {
  lab.store.instances.save(VM, { taskState: "rebuilding", taskRequestId: "req-evacuate" });
  lab.store.migrations.create({
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
  scenario(`6.3 row ${row}: what fails while the instance is evacuated leaves it to the evacuation`, async (lab) => {
    await startHosts(lab);
    const fail = () => {
      evacuates(lab);
      return broken;
    };
    lab.hypervisor(host).failures.set(step, fail);
    lab.beforeCall = (caller, method, params) => {
      const claims = method === "save_together" && JSON.stringify(params).includes("destComputeId");
      if (caller === host && step === (claims ? "resize_claim" : method) && statusOf(move) === "pre-migrating") {
        throw fail();
      }
    };
    // What the instance itself holds on the destination is the evacuation's by then.
    const move = await prepareMove(lab, { strategy: "doubled" });
    castPrep(move);
    await lab.world.runUntil(() => statusOf(move) === "error");
    await lab.world.advance(1_000);
    expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "rebuilding" });
    expect(Object.keys((await heldBy(move)).instance)).toContain(move.d.uuid);
  });
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `6.3 Revert ${strategy}: D fails after it destroyed the guest: vm error on D, which I holds still`,
    async (lab) => {
      await startHosts(lab);
      const move = await resized(lab, { strategy });
      lab.beforeCall = (caller, _method, params) => {
        if (caller === "devstack2" && JSON.stringify(params).includes('"reverted"')) {
          throw broken;
        }
      };
      castRevert(move);
      await lab.world.runUntil(() => statusOf(move) === "error");
      expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
      expect((await heldBy(move)).instance).toMatchObject({ [move.d.uuid]: NEW });
    },
  );
}

scenario("6.3 row 4: the conductor takes it and has this host's word on how it ends", async (lab) => {
  const move = await refusedClaim(lab, { retry: RETRY }, false);
  const event = recordRequest(lab);
  castPrep(move);
  const taken = () => lab.store.tasks.pending().map(({ task }) => task);
  await lab.world.runUntil(() => taken().length > 0);
  await lab.world.advance(1_000);
  expect(taken()).toMatchObject([
    {
      kind: "migrate_server",
      failure: { host: "devstack2", node: "devstack2", message: "no room", rollback: false, eventId: event()?.id },
    },
  ]);
  // Its end is the conductor's to write, and no start of this host takes the move for its own.
  expect(event()).toMatchObject({ finishTime: null, result: null });
  expect(lab.store.migrations.get(move.migration.id)).toMatchObject({ destCompute: null, destNode: null });
});

scenario("6.3 row 4: when nobody knows whether the conductor took it, nothing more is written", async (lab) => {
  await refusedClaim(lab, { retry: RETRY });
  const inner = lab.beforeCall;
  let asked = false;
  lab.beforeCall = async (host, method, params) => {
    await inner(host, method, params);
    if (method !== "migrate_server") {
      return;
    }
    asked = true;
    throw new MessagingTimeout("no answer");
  };
  await lab.world.runUntil(() => asked);
  await lab.world.advance(1_000);
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "resize_prep" });
});

scenario("6.3 row 4 no retry: allocations back, vm error, migration error", async (lab) => {
  const move = await refusedClaim(lab, {});
  await lab.world.runUntil(() => statusOf(move) === "error");
  await lab.world.advance(1_000);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null, newFlavor: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
  expect(fault(lab)?.message).toBe("no room");
});

scenario("6.3 row 4 with retry: allocations back first, then the conductor is asked (bug 1741125)", async (lab) => {
  const asked: unknown[] = [];
  const move = await refusedClaim(lab, { retry: RETRY });
  const inner = lab.beforeCall;
  lab.beforeCall = async (host, method, params) => {
    await inner(host, method, params);
    if (method === "migrate_server") {
      asked.push(await heldBy(move));
    }
  };
  await lab.world.runUntil(() => asked.length > 0);
  await lab.world.advance(1_000);
  expect(asked).toEqual([{ instance: { [move.s.uuid]: OLD }, migration: {} }]);
  expect(statusOf(move)).toBe("pre-migrating");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: "resize_prep" });
});

scenario("6.3 a cold migration to its own host needs a driver that can: vm unchanged", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab, { type: "migration", sameHost: true });
  castPrep(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  await lab.world.advance(1_000);
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario(
  "6.3 Confirm: the driver raises: vm error, migration error, and M goes all the same (bug 1821594)",
  async (lab) => {
    await startHosts(lab);
    const move = await resized(lab);
    lab.hypervisor("devstack1").failures.set("confirmMigration", () => broken);
    castConfirm(move);
    await lab.world.runUntil(() => statusOf(move) === "error");
    await lab.world.advance(1_000);
    expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", oldFlavor: null, newFlavor: null });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  },
);

scenario("6.3 Revert: the destination's driver raises: vm error, migration error, host D", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  lab.hypervisor("devstack2").failures.set("destroy", () => broken);
  castRevert(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "error", taskState: null });
});

scenario("6.3 Revert: the source's driver raises: vm error, host S, with its allocation", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  lab.hypervisor("devstack1").failures.set("finishRevertMigration", () => broken);
  castRevert(move);
  await lab.world.runUntil(() => statusOf(move) === "error");
  await lab.world.advance(1_000);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "error", taskState: null, oldFlavor: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("9.2 1848343 deleted while its allocations went back: they are deleted again", async (lab) => {
  await startHosts(lab);
  const move = await resized(lab);
  lab.afterPlacement = (host, request) => {
    if (host === "devstack1" && request === "POST /allocations") {
      lab.store.instances.destroy(VM);
    }
  };
  castRevert(move);
  await lab.world.advance(60_000);
  expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
});

scenario(
  "6.3 row 4: deleted between the destination's reads and its move of the allocations: M is dropped",
  async (lab) => {
    const move = await refusedClaim(lab, {}, false);
    lab.beforePlacement = async (host, request) => {
      if (host !== "devstack2" || request !== "POST /allocations" || lab.instance(VM).deleted !== 0) {
        return;
      }
      // As an agent deletes (V23): what the instance holds, then its row.
      lab.store.instances.save(VM, { vmState: "deleted", taskState: null });
      await lab.hold(VM, {});
      lab.store.instances.destroy(VM);
    };
    castPrep(move);
    await lab.world.advance(120_000);
    expect(await heldBy(move)).toEqual({ instance: {}, migration: {} });
    expect(statusOf(move)).toBe("error");
  },
);
