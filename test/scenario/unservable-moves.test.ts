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
import type { Lab } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { addInstance } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const UNSERVABLE = "this host attaches no networks";

/** What devstack2's driver was asked that concerns a guest. */
function touched(lab: Lab): readonly string[] {
  const methods = lab.hypervisor("devstack2").calls.map(({ method }) => method);
  return methods.filter((method) => /spawn|destroy|finish|prepare|preLive|checkCan/i.test(method));
}

scenario(
  "6.3 row 4 what the instance needs is not here: another host is asked for before anything is claimed",
  async (lab) => {
    await startHosts(lab);
    const move = await prepareMove(lab, { retry: { numAttempts: 1, hosts: [["devstack2", "devstack2"]] } });
    const inner = lab.beforeCall;
    let reason: unknown;
    lab.beforeCall = async (host, method, params) => {
      await inner(host, method, params);
      reason = method === "migrate_server" ? (params as { failure: { message: string } }).failure.message : reason;
    };
    castPrep(move, { unservable: UNSERVABLE });
    await lab.world.runUntil(() => reason !== undefined);
    expect(reason).toBe(`Insufficient compute resources: ${UNSERVABLE}.`);
    expect(lab.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "active",
      newFlavor: null,
      migrationContext: null,
    });
    expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
    expect(touched(lab)).toEqual([]);
  },
);

scenario("6.3 row 4 the same where no other host may be asked for: it stays as it was", async (lab) => {
  await startHosts(lab);
  const move = await prepareMove(lab, {});
  castPrep(move, { unservable: UNSERVABLE });
  await lab.world.runUntil(() => statusOf(move) === "error");
  await lab.world.advance(1_000);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null, newFlavor: null });
  expect(lab.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario(
  "6.5 row 4 what the instance needs is not here: MigrationPreCheckError, and no driver is asked",
  async (lab) => {
    await new LiveHypervisors(lab).start();
    await placeVm(lab, { taskState: "migrating" });
    const asked = { instanceUuid: VM, migrationId: 1, blockMigration: null, diskOverCommit: false, requestId: REQUEST };
    const { bus } = lab.controlPlane.conductor;
    const params = { ...asked, unservable: UNSERVABLE };
    const answer = bus.call("devstack2", "check_can_live_migrate_destination", params, { requestId: REQUEST });
    await expect(lab.world.runUntil(answer)).rejects.toMatchObject({
      name: "MigrationPreCheckError",
      message: expect.stringContaining(UNSERVABLE),
    });
    expect(touched(lab)).toEqual([]);
  },
);

scenario("6.7 row 3 what the instance needs is not here: failed, D stripped, vm unchanged, task null", async (lab) => {
  await startHosts(lab);
  const source = await placeVm(lab, { taskState: "rebuilding" });
  await lab.hold(VM, { [source.uuid]: OLD, [nodeOf(lab, "devstack2").uuid]: OLD });
  const changes = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
  const { id: migrationId } = lab.store.migrations.create({
    ...{ instanceUuid: VM, migrationType: "evacuation", status: "accepted", changes },
  });
  const message = {
    ...{ instanceUuid: VM, migrationId, requestId: REQUEST, recreate: true, node: "devstack2", imageRef: "" },
    ...{ onSharedStorage: null, targetStopped: false, unservable: UNSERVABLE },
  };
  lab.controlPlane.conductor.bus.cast("devstack2", "rebuild_instance", message, REQUEST);
  await lab.world.runUntil(() => lab.store.instances.fault(VM) !== null);
  expect(lab.store.migrations.get(migrationId)?.status).toBe("failed");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(lab.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
  expect(await lab.held(VM)).toEqual({ [source.uuid]: OLD });
  expect(touched(lab)).toEqual([]);
});

scenario("6.6 unshelve what needs more than is here: still offloaded, nothing held, no driver asked", async (lab) => {
  await startHosts(lab);
  const node = nodeOf(lab, "devstack2");
  addInstance(lab.store, VM, { vmState: "shelved_offloaded", taskState: "unshelving", powerState: 0 });
  await lab.hold(VM, { [node.uuid]: OLD });
  const message = {
    instanceUuid: VM,
    allocations: null,
    node: "devstack2",
    requestId: REQUEST,
    unservable: UNSERVABLE,
  };
  lab.controlPlane.conductor.bus.cast("devstack2", "unshelve_instance", message, REQUEST);
  await lab.world.runUntil(() => lab.store.instances.fault(VM) !== null);
  expect(lab.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", taskState: null, host: null });
  expect(lab.store.instances.fault(VM)?.message).toContain(UNSERVABLE);
  expect(await lab.held(VM)).toEqual({});
  expect(touched(lab)).toEqual([]);
});
