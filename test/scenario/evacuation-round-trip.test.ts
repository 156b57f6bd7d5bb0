import { expect } from "vitest";
import { boot, evacuate, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { AMOUNTS, uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const VM = uuidOf(1);

for (const wiped of [false, true]) {
  const name = wiped ? ", the hypervisor wiped in between" : "";
  scenario(`3.1: boot, kill -9, evacuate, start again${name}: one guest, one allocation`, async (lab) => {
    const source = await lab.start("devstack1", libvirt("devstack1"));
    await lab.start("devstack2", libvirt("devstack2"));
    const [s, d] = [nodeOf(lab, "devstack1"), nodeOf(lab, "devstack2")];
    await boot(lab, VM, s);
    expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
    expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null, powerState: 1 });

    lab.kill(source);
    const migration = await evacuate(lab, VM, s, d);
    expect(await lab.held(VM)).toEqual({ [s.uuid]: AMOUNTS, [d.uuid]: AMOUNTS });
    expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
    expect(await guestsOf(lab, "devstack2")).toEqual([VM]);
    if (wiped) {
      await lab.remove("/hypervisors/devstack1/domains");
    }
    const generations = [await lab.generation(s), await lab.generation(d)] as const;

    const planned = await lab.dryRun("devstack1", libvirt("devstack1"));
    expect(planned.guests.map(({ instance, action }) => [instance, action])).toEqual(wiped ? [] : [[VM, "destroy"]]);
    expect(await guestsOf(lab, "devstack1")).toEqual(wiped ? [] : [VM]);

    await lab.start("devstack1", libvirt("devstack1"));
    expect(await guestsOf(lab, "devstack1")).toEqual([]);
    expect(await guestsOf(lab, "devstack2")).toEqual([VM]);
    expect(await lab.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
    expect(lab.store.migrations.get(migration)?.status).toBe("completed");
    expect(lab.instance(VM)).toMatchObject({
      host: "devstack2",
      node: "devstack2",
      vmState: "active",
      taskState: null,
    });
    // The write names what stays, so that only the destination's generation moves.
    expect([await lab.generation(s), await lab.generation(d)]).toEqual([generations[0], generations[1] + 1]);
  });
}

scenario("3.3 shared instance folder: the source's guest goes, the disks stay for the destination", async (lab) => {
  const sections = { fake_libvirt: { instances_path: "/shared/instances" } };
  const source = await lab.start("devstack1", libvirt("devstack1", { config: { sections } }));
  await lab.start("devstack2", libvirt("devstack2", { config: { sections } }));
  const [s, d] = [nodeOf(lab, "devstack1"), nodeOf(lab, "devstack2")];
  await boot(lab, VM, s);
  lab.kill(source);
  await evacuate(lab, VM, s, d);
  const disks = await lab.list(`/shared/instances/${VM}`);
  expect(disks.length).toBeGreaterThan(0);
  await lab.start("devstack1", libvirt("devstack1", { config: { sections } }));
  expect(await guestsOf(lab, "devstack1")).toEqual([]);
  expect(await lab.list(`/shared/instances/${VM}`)).toEqual(disks);
});

scenario("6.7 repeated evacuation S→D→E: each source cleans its own part when it returns", async (lab) => {
  const runs = [];
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    runs.push(await lab.start(host, libvirt(host)));
  }
  const [one, two, three] = ["devstack1", "devstack2", "devstack3"].map((host) => nodeOf(lab, host));
  if (!one || !two || !three || !runs[0] || !runs[1]) {
    throw new Error("three hosts");
  }
  await boot(lab, VM, one);
  lab.kill(runs[0]);
  await evacuate(lab, VM, one, two);
  lab.kill(runs[1]);
  await lab.allocate(VM, one, two, three);
  await evacuateFurther(three.host);
  expect(Object.keys(await lab.held(VM)).sort()).toEqual([one.uuid, two.uuid, three.uuid].sort());
  await lab.start("devstack1", libvirt("devstack1"));
  expect(Object.keys(await lab.held(VM)).sort()).toEqual([two.uuid, three.uuid].sort());
  await lab.start("devstack2", libvirt("devstack2"));
  expect(await lab.held(VM)).toEqual({ [three.uuid]: AMOUNTS });
  expect(await guestsOf(lab, "devstack1")).toEqual([]);
  expect(await guestsOf(lab, "devstack2")).toEqual([]);
  expect(await guestsOf(lab, "devstack3")).toEqual([VM]);

  async function evacuateFurther(to: string): Promise<void> {
    lab.store.instances.save(VM, { taskState: "rebuilding" });
    const { id } = lab.store.migrations.create({
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
      imageRef: lab.instance(VM).imageRef,
      targetStopped: false,
      requestId: "req-again",
    };
    lab.controlPlane.conductor.bus.cast(to, "rebuild_instance", request, "req-again");
    await lab.world.runUntil(() => lab.store.migrations.get(id)?.status === "done");
  }
});
