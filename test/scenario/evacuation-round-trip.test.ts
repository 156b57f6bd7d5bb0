import { expect } from "vitest";
import { boot, evacuate, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const VM = uuidOf(1);

for (const wiped of [false, true]) {
  const name = wiped ? ", the hypervisor wiped in between" : "";
  scenario(`3.1: boot, kill -9, evacuate, start again${name}: one guest, one allocation`, async (harness) => {
    const source = await harness.start("devstack1", libvirt("devstack1"));
    await harness.start("devstack2", libvirt("devstack2"));
    const [s, d] = [nodeOf(harness, "devstack1"), nodeOf(harness, "devstack2")];
    await boot(harness, VM, s);
    expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack1",
      vmState: "active",
      taskState: null,
      powerState: 1,
    });

    harness.kill(source);
    const migration = await evacuate(harness, VM, s, d);
    expect(await harness.held(VM)).toEqual({ [s.uuid]: AMOUNTS, [d.uuid]: AMOUNTS });
    expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
    expect(await guestsOf(harness, "devstack2")).toEqual([VM]);
    if (wiped) {
      await harness.remove("/hypervisors/devstack1/domains");
    }
    const generations = [await harness.generation(s), await harness.generation(d)] as const;

    const planned = await harness.dryRun("devstack1", libvirt("devstack1"));
    expect(planned.guests.map(({ instance, action }) => [instance, action])).toEqual(wiped ? [] : [[VM, "destroy"]]);
    expect(await guestsOf(harness, "devstack1")).toEqual(wiped ? [] : [VM]);

    await harness.start("devstack1", libvirt("devstack1"));
    expect(await guestsOf(harness, "devstack1")).toEqual([]);
    expect(await guestsOf(harness, "devstack2")).toEqual([VM]);
    expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
    expect(harness.store.migrations.get(migration)?.status).toBe("completed");
    expect(harness.instance(VM)).toMatchObject({
      host: "devstack2",
      node: "devstack2",
      vmState: "active",
      taskState: null,
    });
    // The write names the remaining allocations, so that only the destination's generation changes.
    expect([await harness.generation(s), await harness.generation(d)]).toEqual([generations[0], generations[1] + 1]);
  });
}

scenario("3.3 shared instance folder: the source's guest goes, the disks stay for the destination", async (harness) => {
  const sections = { fake_libvirt: { instances_path: "/shared/instances" } };
  const source = await harness.start("devstack1", libvirt("devstack1", { config: { sections } }));
  await harness.start("devstack2", libvirt("devstack2", { config: { sections } }));
  const [s, d] = [nodeOf(harness, "devstack1"), nodeOf(harness, "devstack2")];
  await boot(harness, VM, s);
  harness.kill(source);
  await evacuate(harness, VM, s, d);
  const disks = await harness.list(`/shared/instances/${VM}`);
  expect(disks.length).toBeGreaterThan(0);
  await harness.start("devstack1", libvirt("devstack1", { config: { sections } }));
  expect(await guestsOf(harness, "devstack1")).toEqual([]);
  expect(await harness.list(`/shared/instances/${VM}`)).toEqual(disks);
});

scenario("6.7 repeated evacuation S→D→E: each source cleans its own part when it returns", async (harness) => {
  const runs = [];
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    runs.push(await harness.start(host, libvirt(host)));
  }
  const [one, two, three] = ["devstack1", "devstack2", "devstack3"].map((host) => nodeOf(harness, host));
  if (!one || !two || !three || !runs[0] || !runs[1]) {
    throw new Error("three hosts");
  }
  await boot(harness, VM, one);
  harness.kill(runs[0]);
  await evacuate(harness, VM, one, two);
  harness.kill(runs[1]);
  await harness.allocate(VM, one, two, three);
  await evacuateFurther(three.host);
  expect(Object.keys(await harness.held(VM)).sort()).toEqual([one.uuid, two.uuid, three.uuid].sort());
  await harness.start("devstack1", libvirt("devstack1"));
  expect(Object.keys(await harness.held(VM)).sort()).toEqual([two.uuid, three.uuid].sort());
  await harness.start("devstack2", libvirt("devstack2"));
  expect(await harness.held(VM)).toEqual({ [three.uuid]: AMOUNTS });
  expect(await guestsOf(harness, "devstack1")).toEqual([]);
  expect(await guestsOf(harness, "devstack2")).toEqual([]);
  expect(await guestsOf(harness, "devstack3")).toEqual([VM]);

  async function evacuateFurther(to: string): Promise<void> {
    harness.store.instances.save(VM, { taskState: "rebuilding" });
    const { id } = harness.store.migrations.create({
      instanceUuid: VM,
      migrationType: "evacuation",
      status: "accepted",
      changes: { sourceCompute: "devstack2", sourceNode: "devstack2", destCompute: to },
    });
    const request = {
      instanceUuid: VM,
      migrationId: id,
      onSharedStorage: null,
      recreate: true,
      node: to,
      imageRef: harness.instance(VM).imageRef,
      targetStopped: false,
      requestId: "req-again",
    };
    harness.controlPlane.conductor.bus.cast(to, "rebuild_instance", request, "req-again");
    await harness.world.runUntil(() => harness.store.migrations.get(id)?.status === "done");
  }
});
