import { expect } from "vitest";
import {
  castPrep,
  heldBy,
  OLD,
  placeVm,
  prepareMove,
  REQUEST,
  startHosts,
  statusOf,
  VM,
} from "../fixtures/cold-moves.js";
import { LiveHypervisors } from "../fixtures/live-migrations.js";
import type { Harness } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { addInstance } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const UNSERVABLE = "this host attaches no networks";

/** Returns the calls of devstack2's driver that concern a guest. */
function touched(harness: Harness): readonly string[] {
  const methods = harness.hypervisor("devstack2").calls.map(({ method }) => method);
  return methods.filter((method) => /spawn|destroy|finish|prepare|preLive|checkCan/i.test(method));
}

scenario(
  "6.3 row 4 what the instance needs is not here: another host is asked for before anything is claimed",
  async (harness) => {
    await startHosts(harness);
    const move = await prepareMove(harness, { retry: { numAttempts: 1, hosts: [["devstack2", "devstack2"]] } });
    const inner = harness.beforeCall;
    let reason: unknown;
    harness.beforeCall = async (host, method, params) => {
      await inner(host, method, params);
      reason = method === "migrate_server" ? (params as { failure: { message: string } }).failure.message : reason;
    };
    castPrep(move, { unservable: UNSERVABLE });
    await harness.world.runUntil(() => reason !== undefined);
    expect(reason).toBe(`Insufficient compute resources: ${UNSERVABLE}.`);
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "active",
      newFlavor: null,
      migrationContext: null,
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
    expect(touched(harness)).toEqual([]);
  },
);

scenario("6.3 row 4 the same where no other host may be asked for: it stays as it was", async (harness) => {
  await startHosts(harness);
  const move = await prepareMove(harness, {});
  castPrep(move, { unservable: UNSERVABLE });
  await harness.world.runUntil(() => statusOf(move) === "error");
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({
    host: "devstack1",
    vmState: "active",
    taskState: null,
    newFlavor: null,
  });
  expect(harness.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario(
  "6.5 row 4 what the instance needs is not here: MigrationPreCheckError, and no driver is asked",
  async (harness) => {
    await new LiveHypervisors(harness).start();
    await placeVm(harness, { taskState: "migrating" });
    const request = {
      instanceUuid: VM,
      migrationId: 1,
      blockMigration: null,
      diskOverCommit: false,
      requestId: REQUEST,
    };
    const { bus } = harness.controlPlane.conductor;
    const params = { ...request, unservable: UNSERVABLE };
    const reply = bus.call("devstack2", "check_can_live_migrate_destination", params, { requestId: REQUEST });
    await expect(harness.world.runUntil(reply)).rejects.toMatchObject({
      name: "MigrationPreCheckError",
      message: expect.stringContaining(UNSERVABLE),
    });
    expect(touched(harness)).toEqual([]);
  },
);

scenario(
  "6.7 row 3 what the instance needs is not here: failed, D stripped, vm unchanged, task null",
  async (harness) => {
    await startHosts(harness);
    const source = await placeVm(harness, { taskState: "rebuilding" });
    await harness.hold(VM, { [source.uuid]: OLD, [nodeOf(harness, "devstack2").uuid]: OLD });
    const changes = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
    const { id: migrationId } = harness.store.migrations.create({
      ...{ instanceUuid: VM, migrationType: "evacuation", status: "accepted", changes },
    });
    const message = {
      ...{ instanceUuid: VM, migrationId, requestId: REQUEST, recreate: true, node: "devstack2", imageRef: "" },
      ...{ onSharedStorage: null, targetStopped: false, unservable: UNSERVABLE },
    };
    harness.controlPlane.conductor.bus.cast("devstack2", "rebuild_instance", message, REQUEST);
    await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
    expect(harness.store.migrations.get(migrationId)?.status).toBe("failed");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
    expect(harness.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
    expect(await harness.held(VM)).toEqual({ [source.uuid]: OLD });
    expect(touched(harness)).toEqual([]);
  },
);

scenario(
  "6.6 unshelve what needs more than is here: still offloaded, nothing held, no driver asked",
  async (harness) => {
    await startHosts(harness);
    const node = nodeOf(harness, "devstack2");
    addInstance(harness.store, VM, { vmState: "shelved_offloaded", taskState: "unshelving", powerState: 0 });
    await harness.hold(VM, { [node.uuid]: OLD });
    const message = {
      instanceUuid: VM,
      allocations: null,
      node: "devstack2",
      requestId: REQUEST,
      unservable: UNSERVABLE,
    };
    harness.controlPlane.conductor.bus.cast("devstack2", "unshelve_instance", message, REQUEST);
    await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
    expect(harness.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", taskState: null, host: null });
    expect(harness.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
    expect(await harness.held(VM)).toEqual({});
    expect(touched(harness)).toEqual([]);
  },
);
