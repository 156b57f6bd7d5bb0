import { expect } from "vitest";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import type { ConfigChanges } from "../../../fixtures/world/nova-config.js";
import type { Lab } from "../../../unit/agent/support/harness.js";
import { addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

function periodic(defaults: NonNullable<ConfigChanges["defaults"]> = {}): { config: ConfigChanges } {
  return {
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0, ...defaults } },
  };
}

/** An instance of devstack1 that was deleted while its guest lived on. */
async function runningDeleted(lab: Lab): Promise<void> {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  lab.hypervisor("devstack1").addGuest(VM);
  lab.store.instances.destroy(VM);
}

scenario("4.10 _cleanup_running_deleted_instances, 3.5 reap: destroyed with disks in the first round", async (lab) => {
  await runningDeleted(lab);
  await lab.start("devstack1", periodic());
  await lab.world.advance(10);
  expect(lab.hypervisor("devstack1").changes).toContainEqual({
    host: "devstack1",
    method: "destroy",
    instance: VM,
    destroyDisks: true,
  });
});

scenario("3.5 reap does not ask whose the instance was", async (lab) => {
  await lab.seed("devstack1");
  const { node } = await lab.seed("devstack2");
  addInstance(lab.store, VM, placed(node));
  lab.hypervisor("devstack1").addGuest(VM);
  lab.store.instances.destroy(VM);
  await lab.start("devstack1", periodic());
  await lab.world.advance(10);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("3.5 shutdown: stopped and kept", async (lab) => {
  await runningDeleted(lab);
  await lab.start("devstack1", periodic({ running_deleted_instance_action: "shutdown" }));
  await lab.world.advance(10);
  expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
});

scenario("3.5 shutdown upstream: nothing happens", async (lab) => {
  await runningDeleted(lab);
  const { config } = periodic({ running_deleted_instance_action: "shutdown" });
  await lab.start("devstack1", { config: { ...config, quirks: ["broken-running-deleted-shutdown"] } });
  await lab.world.advance(10);
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
});

scenario("3.5 log: a warning each pass; 3.5 noop: not even that", async (lab) => {
  await runningDeleted(lab);
  const warnings = (logs: readonly { level: string; message: string }[]) =>
    logs.filter(({ level, message }) => level === "warn" && message.includes("still on the hypervisor")).length;
  const logging = periodic({ running_deleted_instance_action: "log", running_deleted_instance_poll_interval: 100 });
  const run = await lab.start("devstack1", logging);
  await lab.world.advance(250_000);
  expect(warnings(run.runtime.logs)).toBe(3);
  await lab.stop(run);
  const quiet = await lab.start("devstack1", periodic({ running_deleted_instance_action: "noop" }));
  await lab.world.advance(10);
  expect(warnings(quiet.runtime.logs)).toBe(0);
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(true);
});

scenario(
  "3.5 a guest is left for running_deleted_instance_timeout, and while the hypervisor is not ready",
  async (lab) => {
    await runningDeleted(lab);
    const hypervisor = lab.hypervisor("devstack1");
    const options = periodic({ running_deleted_instance_timeout: 100, running_deleted_instance_poll_interval: 60 });
    const run = await lab.start("devstack1", options);
    await lab.world.advance(50_000);
    expect(hypervisor.guests.has(VM)).toBe(true);
    hypervisor.failures.set("listInstanceUuids", () => new VirtDriverNotReady("later"));
    await lab.world.advance(100_000);
    expect(hypervisor.guests.has(VM)).toBe(true);
    expect(run.runtime.logs.some(({ message }) => message.includes("_cleanup_running_deleted_instances failed"))).toBe(
      false,
    );
    hypervisor.failures.clear();
    await lab.world.advance(60_000);
    expect(hypervisor.guests.has(VM)).toBe(false);
  },
);

scenario("3.5 a reap that fails is logged, and tried again in the next round", async (lab) => {
  await runningDeleted(lab);
  const hypervisor = lab.hypervisor("devstack1");
  hypervisor.failures.set("destroy", () => new Error("stuck"));
  await lab.start("devstack1", periodic({ running_deleted_instance_poll_interval: 60 }));
  await lab.world.advance(10);
  expect(hypervisor.guests.has(VM)).toBe(true);
  hypervisor.failures.clear();
  await lab.world.advance(60_000);
  expect(hypervisor.guests.has(VM)).toBe(false);
});

scenario("4.10 _run_pending_deletes, 3.7 files of deleted instances are removed, and the row says so", async (lab) => {
  await runningDeleted(lab);
  lab.hypervisor("devstack1").guests.delete(VM);
  await lab.start("devstack1", periodic());
  await lab.world.advance(301_000);
  expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(false);
  expect(lab.instance(VM)).toMatchObject({ cleaned: true, systemMetadata: { clean_attempts: "1" } });
});

scenario("3.7 files that cannot be removed are tried maximum_instance_delete_attempts times", async (lab) => {
  await runningDeleted(lab);
  const hypervisor = lab.hypervisor("devstack1");
  hypervisor.guests.delete(VM);
  let tries = 0;
  hypervisor.failures.set("deleteInstanceFiles", () => {
    tries += 1;
    return new Error("busy");
  });
  await lab.start("devstack1", periodic({ maximum_instance_delete_attempts: 3 }));
  await lab.world.advance(3_000_000);
  expect(tries).toBe(3);
  expect(lab.instance(VM)).toMatchObject({ cleaned: false, systemMetadata: { clean_attempts: "3" } });
});

scenario(
  "4.10 _cleanup_incomplete_migrations, 3.7 an incomplete migration of an instance deleted elsewhere is cleaned up and failed",
  async (lab) => {
    const { node: s } = await lab.seed("devstack1");
    const { node: d } = await lab.seed("devstack2");
    addInstance(lab.store, VM, placed(d));
    addInstance(lab.store, uuidOf(2), placed(d));
    const source = { sourceCompute: "devstack1", sourceNode: s.hypervisorHostname, destCompute: "devstack2" };
    const deleted = addMigration(lab.store, VM, "migration", "error", source);
    const alive = addMigration(lab.store, uuidOf(2), "migration", "error", source);
    lab.store.instances.destroy(VM);
    lab.hypervisor("devstack1").disks.add(VM);
    await lab.start("devstack1", periodic());
    await lab.world.advance(301_000);
    expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(false);
    expect(lab.store.migrations.get(deleted.id)?.status).toBe("failed");
    expect(lab.store.migrations.get(alive.id)?.status).toBe("error");
  },
);

scenario("4.10 _reclaim_queued_deletes soft-deleted instances are reclaimed when they are old enough", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  lab.store.instances.save(VM, { vmState: "soft-delete" });
  const run = await lab.start("devstack1", periodic({ reclaim_instance_interval: 300 }));
  await lab.world.advance(200_000);
  expect(run.operations).not.toContain(`terminate ${VM}`);
  await lab.world.advance(200_000);
  expect(run.operations).toContain(`terminate ${VM}`);
});

scenario(
  "4.10 _reclaim_queued_deletes what could not be reclaimed is soft-deleted still, and tried again",
  async (lab) => {
    const { node } = await lab.seed("devstack1");
    addInstance(lab.store, VM, placed(node));
    lab.store.instances.save(VM, { vmState: "soft-delete" });
    let tries = 0;
    const terminate_instance = async () => {
      tries += 1;
      lab.store.instances.save(VM, { vmState: "error", taskState: null });
      throw new Error("the hypervisor is broken");
    };
    await lab.start("devstack1", {
      ...periodic({ reclaim_instance_interval: 300 }),
      operations: { terminate_instance },
    });
    await lab.world.advance(400_000);
    expect(tries).toBe(1);
    expect(lab.instance(VM)).toMatchObject({ vmState: "soft-delete", taskState: null });
    await lab.world.advance(400_000);
    expect(tries).toBe(2);
    lab.store.instances.save(VM, { vmState: "active" });
    await lab.world.advance(400_000);
    expect([tries, lab.instance(VM).vmState]).toEqual([2, "active"]);
  },
);

scenario(
  "4.10 _reclaim_queued_deletes one that was restored as its turn came is its user's, in error, too",
  async (lab) => {
    const { node } = await lab.seed("devstack1");
    addInstance(lab.store, VM, placed(node));
    lab.store.instances.save(VM, { vmState: "soft-delete" });
    lab.beforeCall = (_host, method, params) => {
      const { changes } = (params ?? {}) as { readonly changes?: { readonly taskState?: string } };
      if (method === "instance_save" && changes?.taskState === "deleting") {
        lab.store.instances.save(VM, { vmState: "error" });
      }
    };
    const run = await lab.start("devstack1", periodic({ reclaim_instance_interval: 300 }));
    await lab.world.advance(400_000);
    expect(run.runtime.logs.some(({ message }) => message.includes("could not be reclaimed"))).toBe(true);
    expect(lab.instance(VM).vmState).toBe("error");
  },
);

scenario(
  "4.10 _check_instance_build_time a build that takes longer than instance_build_timeout becomes an error",
  async (lab) => {
    const { node } = await lab.seed("devstack1");
    const run = await lab.start("devstack1", periodic({ instance_build_timeout: 120 }));
    addInstance(lab.store, VM, { ...placed(node), vmState: "building", taskState: "spawning" });
    await lab.world.advance(100_000);
    expect(lab.instance(VM).vmState).toBe("building");
    await lab.world.advance(100_000);
    expect(lab.instance(VM)).toMatchObject({ vmState: "error", taskState: "spawning" });
    expect(run.agent.state).toBe("serving");
  },
);

for (const [what, meanwhile, at] of [
  ["has been built", { vmState: "active", taskState: null }, "write"],
  ["was rescheduled", { host: null, node: null, computeId: null, taskState: "scheduling" }, "write"],
  ["goes on", { taskState: "spawning" }, "write"],
  ["is being deleted", { taskState: "deleting" }, "write"],
  ["was being deleted", { taskState: "deleting" }, "read"],
] as const) {
  scenario(`4.10 _check_instance_build_time one that ${what} by then is left`, async (lab) => {
    const { node } = await lab.seed("devstack1");
    await lab.start("devstack1", periodic({ instance_build_timeout: 120 }));
    const builds = { ...placed(node), vmState: "building", taskState: "networking" } as const;
    addInstance(lab.store, VM, { ...builds, ...(at === "read" ? meanwhile : {}) });
    addInstance(lab.store, uuidOf(2), builds);
    lab.beforeCall = (_host, method, params) => {
      const { uuid } = (params ?? {}) as { readonly uuid?: string };
      if (at === "write" && method === "instance_save" && uuid === VM) {
        lab.store.instances.save(VM, meanwhile);
      }
    };
    await lab.world.advance(200_000);
    expect(lab.instance(VM)).toMatchObject(meanwhile);
    expect(lab.instance(uuidOf(2))).toMatchObject({ vmState: "error", taskState: "networking" });
  });
}

scenario(
  "4.10 _sync_power_states power states are synchronised at once and every 600 s, but not of busy instances",
  async (lab) => {
    const { node } = await lab.seed("devstack1");
    addInstance(lab.store, VM, placed(node));
    addInstance(lab.store, uuidOf(2), placed(node));
    lab.hypervisor("devstack1").addGuest(VM);
    const run = await lab.start("devstack1", periodic());
    lab.store.instances.save(uuidOf(2), { taskState: "rebooting" });
    await lab.world.advance(10);
    expect(run.operations).toEqual([`sync ${VM}`]);
    await lab.world.advance(600_000);
    expect(run.operations).toEqual([`sync ${VM}`, `sync ${VM}`]);
    expect(run.runtime.logs.some(({ message }) => message.startsWith("2 instances are recorded"))).toBe(true);
  },
);

scenario("4.10 _sync_scheduler_instance_info the scheduler is told which instances are here", async (lab) => {
  const { node } = await lab.seed("devstack1");
  await lab.start("devstack1", periodic());
  addInstance(lab.store, VM, placed(node));
  await lab.world.advance(121_000);
  expect([...(lab.controlPlane.conductor.instanceInfo.get("devstack1") ?? [])]).toEqual([VM]);
});

scenario(
  "4.10 update_available_resource, V10 a provider that somebody deleted comes back with the next pass",
  async (lab) => {
    await lab.seed("devstack1");
    await lab.start("devstack1", periodic());
    await lab.removeProvider("devstack1");
    expect(await lab.providers()).toEqual([]);
    await lab.world.advance(61_000);
    expect(await lab.providers()).toEqual(["devstack1"]);
  },
);
