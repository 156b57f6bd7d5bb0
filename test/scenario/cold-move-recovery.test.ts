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
import type { Lab } from "../unit/agent/support/harness.js";
import { libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, addInstance, FLAVOR } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

/** Kills the source in its confirmation, when the conductor has answered the write of `confirmed`. */
async function killedWhenConfirmed(lab: Lab, strategy: "split" | "doubled") {
  const source = await lab.start("devstack1", { operations: "real" });
  await lab.start("devstack2", { operations: "real" });
  const move = await resized(lab, { strategy });
  lab.afterCall = (host, method) => {
    if (host === "devstack1" && method === "save_together" && statusOf(move) === "confirmed") {
      lab.kill(source);
      return new Promise<never>(() => {});
    }
    return undefined;
  };
  castConfirm(move);
  await lab.world.runUntil(() => !source.runtime.alive);
  lab.afterCall = () => {};
  return move;
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `6.3 Confirm ${strategy}: a source that died after "confirmed" frees its half and the flavors`,
    async (lab) => {
      const move = await killedWhenConfirmed(lab, strategy);
      expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: null, oldFlavor: { id: 1 } });
      await lab.world.advance(1_000);
      await lab.start("devstack1", { operations: "real" });
      expect(lab.instance(VM)).toMatchObject({
        vmState: "active",
        host: "devstack2",
        oldFlavor: null,
        newFlavor: null,
      });
      expect(lab.instance(VM).systemMetadata).not.toHaveProperty("old_vm_state");
      expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
    },
  );
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(`6.3 Confirm ${strategy}: its half goes, too, when the server has been moved on meanwhile`, async (lab) => {
    const move = await killedWhenConfirmed(lab, strategy);
    await lab.start("devstack3", { operations: "real" });
    const [d, x] = [move.d, nodeOf(lab, "devstack3")];
    const next = lab.store.migrations.create({
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
    lab.store.instances.save(VM, { vmState: "resized", host: x.host, node: x.hypervisorHostname, computeId: x.id });
    const [instance, migration] =
      strategy === "split" ? [{ [x.uuid]: NEW }, { [d.uuid]: NEW }] : [{ [d.uuid]: NEW, [x.uuid]: NEW }, {}];
    await lab.hold(VM, strategy === "split" ? instance : { [move.s.uuid]: OLD, ...instance });
    await lab.hold(next.uuid, migration);
    await lab.start("devstack1", { operations: "real" });
    expect(await heldBy(move)).toEqual({ instance, migration: {} });
    expect(await lab.held(next.uuid)).toEqual(migration);
    expect(lab.instance(VM)).toMatchObject({ vmState: "resized", oldFlavor: { id: 1 } });
  });
}

for (const [status, vmState, rest] of [
  ["finished", "resized", (d: string) => ({ [d]: NEW })],
  ["confirmed", "active", () => ({})],
] as const) {
  scenario(
    `6.3 Confirm doubled: its half goes, too, when the server has come back meanwhile, ${status}`,
    async (lab) => {
      const move = await killedWhenConfirmed(lab, "doubled");
      const { s, d } = move;
      const dest = { destCompute: s.host, destNode: s.hypervisorHostname, destComputeId: s.id };
      const changes = { sourceCompute: d.host, sourceNode: d.hypervisorHostname, ...dest };
      const next = lab.store.migrations.create({
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
      await lab.hold(VM, { [s.uuid]: sum, [d.uuid]: NEW });
      const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
      await lab.start("devstack1", { operations: "real", ...periodic });
      expect(await lab.held(VM), "until it has come").toEqual({ [s.uuid]: sum, [d.uuid]: NEW });
      const here = { host: s.host, node: s.hypervisorHostname, computeId: s.id };
      lab.store.transaction(() => {
        lab.store.migrations.save(next.id, { status });
        lab.store.instances.save(VM, { vmState, taskState: null, ...here });
      });
      await lab.hold(VM, { [s.uuid]: sum, ...rest(d.uuid) });
      await lab.world.advance(15 * 60_000);
      expect(await lab.held(VM)).toEqual({ [s.uuid]: NEW, ...rest(d.uuid) });
    },
  );
}

scenario(
  '6.3 Confirm: a source that runs on, and was not told that "confirmed" is written, frees its half',
  async (lab) => {
    const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
    await startHosts(lab, periodic);
    const move = await resized(lab);
    const { network } = lab.world;
    const unlisten = lab.store.onChange(() => {
      if (statusOf(move) === "confirmed") {
        network.partition("agent-devstack1", "control-plane");
      }
    });
    castConfirm(move);
    await lab.world.runUntil(() => statusOf(move) === "confirmed");
    unlisten();
    await lab.world.advance(5 * 60_000);
    network.heal("agent-devstack1", "control-plane");
    await lab.world.advance(60_000);
    expect(lab.instance(VM).oldFlavor).toMatchObject({ id: 1 });
    await lab.world.advance(15 * 60_000);
    expect(lab.instance(VM)).toMatchObject({ vmState: "active", oldFlavor: null, newFlavor: null });
    expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: {} });
  },
);

scenario("2.6 OPT an interrupted move that cannot be ended at start-up is ended as soon as it can", async (lab) => {
  const options = {
    operations: "real",
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
  } as const;
  await lab.start("devstack1", options);
  const destination = await lab.start("devstack2", options);
  const move = await prepareMove(lab, {});
  lab.kill(destination);
  await lab.world.advance(1_000);
  lab.beforePlacement = (host, request) => {
    if (host === "devstack2" && request.includes(move.migration.uuid)) {
      throw new Error("Placement is broken");
    }
  };
  await lab.start("devstack2", options);
  await lab.world.advance(10_000);
  expect(statusOf(move)).toBe("error");
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: "resize_prep" });
  lab.beforePlacement = () => {};
  await lab.world.advance(6_000);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null, newFlavor: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.s.uuid]: OLD }, migration: {} });
});

scenario("6.3 Confirm: the flavors of a later move are its own", async (lab) => {
  const { d } = await killedWhenConfirmed(lab, "split");
  lab.store.instances.save(VM, { vmState: "resized" });
  const destination = { destCompute: d.host, destNode: d.hypervisorHostname, destComputeId: d.id };
  lab.store.migrations.create({
    instanceUuid: VM,
    migrationType: "migration",
    status: "finished",
    changes: { sourceCompute: d.host, sourceNode: d.hypervisorHostname, ...destination },
  });
  await lab.start("devstack1", { operations: "real" });
  expect(lab.instance(VM)).toMatchObject({ vmState: "resized", oldFlavor: { id: 1 } });
});

/** A guest with a part of a device on each host that it moves to; both providers of a host belong to what it holds there. */
const DEVICES = { devices: "0000:81:00.0=VGPU:2" };
const GPU: Flavor = { ...FLAVOR, extraSpecs: { "resources:VGPU": "1" } };

async function devicesOf(lab: Lab, host: string): Promise<readonly string[]> {
  const xml = (await lab.read(`/hypervisors/${host}/domains/${VM}.xml`)) ?? "";
  return [...xml.matchAll(/<fake:device [^>]*>/g)].map(([device]) => device);
}

for (const strategy of ["split", "doubled"] as const) {
  scenario(
    `8.3 ${strategy}: a guest has a device on the host it is moved to, and on the one it goes back to`,
    async (lab) => {
      for (const host of ["devstack1", "devstack2"]) {
        await lab.start(host, libvirt(host, { config: { sections: { fake_libvirt: DEVICES } } }));
      }
      const [s, d] = [nodeOf(lab, "devstack1"), nodeOf(lab, "devstack2")];
      const onS = await halfOn(lab, "devstack1");
      const onD = await halfOn(lab, "devstack2");
      await bootWithDevice(lab, s, onS);
      expect(await devicesOf(lab, "devstack1")).toHaveLength(1);

      lab.store.instances.save(VM, { taskState: "resize_prep" });
      const migration = lab.store.migrations.create({
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
      await lab.hold(VM, strategy === "split" ? onD : { ...onS, ...onD });
      if (strategy === "split") {
        await lab.hold(migration.uuid, onS);
      }
      const move: ColdMove = { lab, options: { strategy }, s, d, migration, newFlavor: GPU };
      castPrep(move);
      await lab.world.runUntil(() => lab.instance(VM).vmState === "resized" && statusOf(move) === "finished");
      expect(await devicesOf(lab, "devstack2")).toHaveLength(1);

      castRevert(move);
      await lab.world.runUntil(() => lab.instance(VM).vmState === "active");
      expect(await devicesOf(lab, "devstack1")).toHaveLength(1);
    },
  );
}

async function halfOn(lab: Lab, host: string): Promise<Record<string, Resources>> {
  const { uuid: root } = nodeOf(lab, host);
  const { parts } = await lab.prepare(host, { process: "observer" });
  const pass = await lab.world.runUntil(parts.placement.beginPass([root], { requestId: "req-test" }));
  const child = (pass.members(root) ?? []).find(({ parentUuid }) => parentUuid === root);
  if (!child) {
    throw new Error(`${host} has no device provider`);
  }
  return { [root]: AMOUNTS, [child.uuid]: { VGPU: 1 } };
}

async function bootWithDevice(lab: Lab, node: ComputeNode, half: Record<string, Resources>): Promise<void> {
  addInstance(lab.store, VM, { vmState: "building", taskState: "scheduling", powerState: 0, flavor: GPU });
  await lab.hold(VM, half);
  const request = {
    instanceUuid: VM,
    allocations: Object.fromEntries(Object.entries(half).map(([uuid, resources]) => [uuid, { resources }])),
    node: node.hypervisorHostname,
    alternates: [],
    requestId: "req-boot",
  };
  lab.controlPlane.conductor.bus.cast(node.host, "build_and_run_instance", request, "req-boot");
  await lab.world.runUntil(() => lab.instance(VM).vmState === "active");
}

const OVERTAKEN_AT = [
  ["pre-migrating", "devstack1", "devstack2", "devstack1", "source"],
  ["migrating", "devstack1", "devstack1", "devstack1", "source"],
  ["post-migrating", "devstack2", "devstack2", "devstack2", "destination"],
] as const;

for (const [status, host, dies, returns, side] of OVERTAKEN_AT) {
  scenario(
    `6.2 a soft delete took a move in ${status}, whose agent died: its ${side} ends it with the delete`,
    async (lab) => {
      const agents = new Map<string, Awaited<ReturnType<Lab["start"]>>>();
      for (const name of ["devstack1", "devstack2"]) {
        agents.set(name, await lab.start(name, { operations: "real" }));
      }
      const killed = (name: string) => {
        const agent = agents.get(name);
        if (agent?.runtime.alive) {
          lab.kill(agent);
        }
      };
      const move = await prepareMove(lab);
      lab.afterCall = () => {
        if (statusOf(move) !== status || (status === "pre-migrating" && lab.instance(VM).migrationContext === null)) {
          return undefined;
        }
        killed(dies);
        killed(returns);
        return new Promise<never>(() => {});
      };
      castPrep(move);
      await lab.world.runUntil(() => agents.get(dies)?.runtime.alive === false);
      lab.afterCall = () => undefined;
      lab.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-soft-delete" });
      await lab.world.advance(1_000);
      await lab.start(returns, { operations: "real" });
      await lab.world.runUntil(() => statusOf(move) === "error");
      await lab.world.advance(1_000);
      expect(lab.instance(VM)).toMatchObject({ host, vmState: "soft-delete", taskState: null });
      const { s, d } = move;
      const held = status === "post-migrating" ? { [d.uuid]: NEW } : { [s.uuid]: OLD };
      expect(await heldBy(move)).toEqual({ instance: held, migration: {} });
    },
  );
}
