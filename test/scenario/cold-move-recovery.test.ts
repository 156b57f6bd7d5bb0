import { expect } from "vitest";
import type { ComputeNode, Flavor, Resources } from "../../src/records/index.js";
import {
  type ColdMove,
  castConfirm,
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
import { libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, addInstance, FLAVOR } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Kills the source in its confirmation, after the conductor has replied to the write of `confirmed`. */
async function killedWhenConfirmed(harness: Harness, strategy: "split" | "doubled") {
  const source = await harness.start("devstack1", { operations: "real" });
  await harness.start("devstack2", { operations: "real" });
  const move = await resized(harness, { strategy });
  harness.afterCall = (host, method) => {
    if (host === "devstack1" && method === "save_together" && statusOf(move) === "confirmed") {
      harness.kill(source);
      return new Promise<never>(() => {});
    }
    return undefined;
  };
  castConfirm(move);
  await harness.world.runUntil(() => !source.runtime.alive);
  harness.afterCall = () => {};
  return move;
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `6.3 Confirm ${strategy}: a source that died after "confirmed" frees its half and the flavors`,
    async (harness) => {
      const move = await killedWhenConfirmed(harness, strategy);
      expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null, oldFlavor: { id: 1 } });
      await harness.world.advance(1_000);
      await harness.start("devstack1", { operations: "real" });
      expect(harness.instance(VM)).toMatchObject({
        vmState: "active",
        host: "devstack2",
        oldFlavor: null,
        newFlavor: null,
      });
      expect(harness.instance(VM).systemMetadata).not.toHaveProperty("old_vm_state");
      expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
    },
  );
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `6.3 Confirm ${strategy}: its half goes, too, when the server has been moved on meanwhile`,
    async (harness) => {
      const move = await killedWhenConfirmed(harness, strategy);
      await harness.start("devstack3", { operations: "real" });
      const [d, x] = [move.d, nodeOf(harness, "devstack3")];
      const next = harness.store.migrations.create({
        instanceUuid: VM,
        migrationType: "migration",
        status: "finished",
        changes: {
          sourceCompute: d.host,
          sourceNode: d.hypervisorHostname,
          destCompute: x.host,
          destNode: x.host,
          destComputeId: x.id,
        },
      });
      harness.store.instances.save(VM, {
        vmState: "resized",
        host: x.host,
        node: x.hypervisorHostname,
        computeId: x.id,
      });
      const [instance, migration] =
        strategy === "split" ? [{ [x.uuid]: NEW }, { [d.uuid]: NEW }] : [{ [d.uuid]: NEW, [x.uuid]: NEW }, {}];
      await harness.hold(VM, strategy === "split" ? instance : { [move.s.uuid]: OLD, ...instance });
      await harness.hold(next.uuid, migration);
      await harness.start("devstack1", { operations: "real" });
      expect(await heldBy(move)).toEqual({ instance, migration: {} });
      expect(await harness.held(next.uuid)).toEqual(migration);
      expect(harness.instance(VM)).toMatchObject({ vmState: "resized", oldFlavor: { id: 1 } });
    },
  );
}

for (const [status, vmState, rest] of [
  ["finished", "resized", (d: string) => ({ [d]: NEW })],
  ["confirmed", "active", () => ({})],
] as const) {
  scenario(
    `6.3 Confirm doubled: its half goes, too, when the server has come back meanwhile, ${status}`,
    async (harness) => {
      const move = await killedWhenConfirmed(harness, "doubled");
      const { s, d } = move;
      const dest = { destCompute: s.host, destNode: s.hypervisorHostname, destComputeId: s.id };
      const changes = { sourceCompute: d.host, sourceNode: d.hypervisorHostname, ...dest };
      const next = harness.store.migrations.create({
        instanceUuid: VM,
        migrationType: "migration",
        status: "migrating",
        changes,
      });
      const sum: Resources = {
        VCPU: (OLD.VCPU ?? 0) + (NEW.VCPU ?? 0),
        MEMORY_MB: (OLD.MEMORY_MB ?? 0) + (NEW.MEMORY_MB ?? 0),
        DISK_GB: (OLD.DISK_GB ?? 0) + (NEW.DISK_GB ?? 0),
      };
      await harness.hold(VM, { [s.uuid]: sum, [d.uuid]: NEW });
      const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
      await harness.start("devstack1", { operations: "real", ...periodic });
      expect(await harness.held(VM), "until it has come").toEqual({ [s.uuid]: sum, [d.uuid]: NEW });
      const here = { host: s.host, node: s.hypervisorHostname, computeId: s.id };
      harness.store.transaction(() => {
        harness.store.migrations.save(next.id, { status });
        harness.store.instances.save(VM, { vmState, taskState: null, ...here });
      });
      await harness.hold(VM, { [s.uuid]: sum, ...rest(d.uuid) });
      await harness.world.advance(15 * 60_000);
      expect(await harness.held(VM)).toEqual({ [s.uuid]: NEW, ...rest(d.uuid) });
    },
  );
}

scenario(
  '6.3 Confirm: a source that runs on, and was not told that "confirmed" is written, frees its half',
  async (harness) => {
    const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
    await startHosts(harness, periodic);
    const move = await resized(harness);
    const { network } = harness.world;
    const unlisten = harness.store.onChange(() => {
      if (statusOf(move) === "confirmed") {
        network.partition("agent-devstack1", "control-plane");
      }
    });
    castConfirm(move);
    await harness.world.runUntil(() => statusOf(move) === "confirmed");
    unlisten();
    await harness.world.advance(5 * 60_000);
    network.heal("agent-devstack1", "control-plane");
    await harness.world.advance(60_000);
    expect(harness.instance(VM).oldFlavor).toMatchObject({ id: 1 });
    await harness.world.advance(15 * 60_000);
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", oldFlavor: null, newFlavor: null });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  },
);

scenario("2.6 OPT an interrupted move that cannot be ended at start-up is ended as soon as it can", async (harness) => {
  const options = {
    operations: "real",
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
  } as const;
  await harness.start("devstack1", options);
  const destination = await harness.start("devstack2", options);
  const move = await prepareMove(harness, {});
  harness.kill(destination);
  await harness.world.advance(1_000);
  harness.beforePlacement = (host, request) => {
    if (host === "devstack2" && request.includes(move.migration.uuid)) {
      throw new Error("Placement is broken");
    }
  };
  await harness.start("devstack2", options);
  await harness.world.advance(10_000);
  expect(statusOf(move)).toBe("error");
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "resize_prep" });
  harness.beforePlacement = () => {};
  await harness.world.advance(6_000);
  expect(harness.instance(VM)).toMatchObject({
    host: "devstack1",
    vmState: "active",
    taskState: null,
    newFlavor: null,
  });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.3 Confirm: the flavors of a later move are its own", async (harness) => {
  const { d } = await killedWhenConfirmed(harness, "split");
  harness.store.instances.save(VM, { vmState: "resized" });
  const destination = { destCompute: d.host, destNode: d.hypervisorHostname, destComputeId: d.id };
  harness.store.migrations.create({
    instanceUuid: VM,
    migrationType: "migration",
    status: "finished",
    changes: { sourceCompute: d.host, sourceNode: d.hypervisorHostname, ...destination },
  });
  await harness.start("devstack1", { operations: "real" });
  expect(harness.instance(VM)).toMatchObject({ vmState: "resized", oldFlavor: { id: 1 } });
});

/** A guest with a part of a device on each host of the move; its allocations on a host use both providers. */
const DEVICES = { devices: "0000:81:00.0=VGPU:2" };
const GPU: Flavor = { ...FLAVOR, extraSpecs: { "resources:VGPU": "1" } };

async function devicesOf(harness: Harness, host: string): Promise<readonly string[]> {
  const xml = (await harness.read(`/hypervisors/${host}/domains/${VM}.xml`)) ?? "";
  return [...xml.matchAll(/<fake:device [^>]*>/g)].map(([device]) => device);
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `8.3 ${strategy}: a guest has a device on the host it is moved to, and on the one it goes back to`,
    async (harness) => {
      for (const host of ["devstack1", "devstack2"]) {
        await harness.start(host, libvirt(host, { config: { sections: { fake_libvirt: DEVICES } } }));
      }
      const [s, d] = [nodeOf(harness, "devstack1"), nodeOf(harness, "devstack2")];
      const onS = await getHostAllocations(harness, "devstack1");
      const onD = await getHostAllocations(harness, "devstack2");
      await bootWithDevice(harness, s, onS);
      expect(await devicesOf(harness, "devstack1")).toHaveLength(1);

      harness.store.instances.save(VM, { taskState: "resize_prep" });
      const migration = harness.store.migrations.create({
        instanceUuid: VM,
        migrationType: "migration",
        status: "pre-migrating",
        changes: {
          sourceCompute: s.host,
          sourceNode: s.hypervisorHostname,
          destCompute: d.host,
          oldInstanceTypeId: GPU.id,
          newInstanceTypeId: GPU.id,
        },
      });
      await harness.hold(VM, strategy === "split" ? onD : { ...onS, ...onD });
      if (strategy === "split") {
        await harness.hold(migration.uuid, onS);
      }
      const move: ColdMove = { harness, options: { strategy }, s, d, migration, newFlavor: GPU };
      castPrep(move);
      await harness.world.runUntil(() => harness.instance(VM).vmState === "resized" && statusOf(move) === "finished");
      expect(await devicesOf(harness, "devstack2")).toHaveLength(1);

      castRevert(move);
      await harness.world.runUntil(() => harness.instance(VM).vmState === "active");
      expect(await devicesOf(harness, "devstack1")).toHaveLength(1);
    },
  );
}

async function getHostAllocations(harness: Harness, host: string): Promise<Record<string, Resources>> {
  const { uuid: root } = nodeOf(harness, host);
  const { parts } = await harness.prepare(host, { process: "observer" });
  const pass = await harness.world.runUntil(parts.placement.beginPass([root], { requestId: "req-test" }));
  const child = (pass.members(root) ?? []).find(({ parentUuid }) => parentUuid === root);
  if (!child) {
    throw new Error(`${host} has no device provider`);
  }
  return { [root]: AMOUNTS, [child.uuid]: { VGPU: 1 } };
}

async function bootWithDevice(
  harness: Harness,
  node: ComputeNode,
  hostAllocations: Record<string, Resources>,
): Promise<void> {
  addInstance(harness.store, VM, { vmState: "building", taskState: "scheduling", powerState: 0, flavor: GPU });
  await harness.hold(VM, hostAllocations);
  const request = {
    instanceUuid: VM,
    allocations: Object.fromEntries(Object.entries(hostAllocations).map(([uuid, resources]) => [uuid, { resources }])),
    node: node.hypervisorHostname,
    alternates: [],
    requestId: "req-boot",
  };
  harness.controlPlane.conductor.bus.cast(node.host, "build_and_run_instance", request, "req-boot");
  await harness.world.runUntil(() => harness.instance(VM).vmState === "active");
}

const SUPERSEDED_AT = [
  ["pre-migrating", "devstack1", "devstack2", "devstack1", "source"],
  ["migrating", "devstack1", "devstack1", "devstack1", "source"],
  ["post-migrating", "devstack2", "devstack2", "devstack2", "destination"],
] as const;

for (const [status, host, dies, returns, side] of SUPERSEDED_AT) {
  scenario(
    `6.2 a soft delete took a move in ${status}, whose agent died: its ${side} ends it with the delete`,
    async (harness) => {
      const agents = new Map<string, Awaited<ReturnType<Harness["start"]>>>();
      for (const name of ["devstack1", "devstack2"]) {
        agents.set(name, await harness.start(name, { operations: "real" }));
      }
      const killed = (name: string) => {
        const agent = agents.get(name);
        if (agent?.runtime.alive) {
          harness.kill(agent);
        }
      };
      const move = await prepareMove(harness);
      harness.afterCall = () => {
        if (
          statusOf(move) !== status ||
          (status === "pre-migrating" && harness.instance(VM).migrationContext === null)
        ) {
          return undefined;
        }
        killed(dies);
        killed(returns);
        return new Promise<never>(() => {});
      };
      castPrep(move);
      await harness.world.runUntil(() => agents.get(dies)?.runtime.alive === false);
      harness.afterCall = () => undefined;
      harness.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-soft-delete" });
      await harness.world.advance(1_000);
      await harness.start(returns, { operations: "real" });
      await harness.world.runUntil(() => statusOf(move) === "error");
      await harness.world.advance(1_000);
      expect(harness.instance(VM)).toMatchObject({ host, vmState: "soft-delete", taskState: null });
      const { s, d } = move;
      const held = status === "post-migrating" ? { [d.uuid]: NEW } : { [s.uuid]: OLD };
      expect(await heldBy(move)).toEqual({ instance: held, migration: {} });
    },
  );
}
