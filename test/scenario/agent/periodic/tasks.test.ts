import { expect } from "vitest";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import type { ConfigChanges } from "../../../fixtures/world/nova-config.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

function periodic(defaults: NonNullable<ConfigChanges["defaults"]> = {}): { config: ConfigChanges } {
  return {
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0, ...defaults } },
  };
}

/** Creates an instance of devstack1 that was deleted while its guest kept running. */
async function runningDeleted(harness: Harness): Promise<void> {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  harness.store.instances.destroy(VM);
}

scenario(
  "4.10 _cleanup_running_deleted_instances, 3.5 reap: destroyed with disks in the first round",
  async (harness) => {
    await runningDeleted(harness);
    await harness.start("devstack1", periodic());
    await harness.world.advance(10);
    expect(harness.hypervisor("devstack1").changes).toContainEqual({
      host: "devstack1",
      method: "destroy",
      instance: VM,
      destroyDisks: true,
    });
  },
);

scenario("3.5 reap does not ask whose the instance was", async (harness) => {
  await harness.seed("devstack1");
  const { node } = await harness.seed("devstack2");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  harness.store.instances.destroy(VM);
  await harness.start("devstack1", periodic());
  await harness.world.advance(10);
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("3.5 shutdown: stopped and kept", async (harness) => {
  await runningDeleted(harness);
  await harness.start("devstack1", periodic({ running_deleted_instance_action: "shutdown" }));
  await harness.world.advance(10);
  expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
});

scenario("3.5 shutdown upstream: nothing happens", async (harness) => {
  await runningDeleted(harness);
  const { config } = periodic({ running_deleted_instance_action: "shutdown" });
  await harness.start("devstack1", { config: { ...config, quirks: ["broken-running-deleted-shutdown"] } });
  await harness.world.advance(10);
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
});

scenario("3.5 log: a warning each pass; 3.5 noop: not even that", async (harness) => {
  await runningDeleted(harness);
  const warnings = (logs: readonly { level: string; message: string }[]) =>
    logs.filter(({ level, message }) => level === "warn" && message.includes("still on the hypervisor")).length;
  const logging = periodic({ running_deleted_instance_action: "log", running_deleted_instance_poll_interval: 100 });
  const run = await harness.start("devstack1", logging);
  await harness.world.advance(250_000);
  expect(warnings(run.runtime.logs)).toBe(3);
  await harness.stop(run);
  const quiet = await harness.start("devstack1", periodic({ running_deleted_instance_action: "noop" }));
  await harness.world.advance(10);
  expect(warnings(quiet.runtime.logs)).toBe(0);
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(true);
});

scenario(
  "3.5 a guest is left for running_deleted_instance_timeout, and while the hypervisor is not ready",
  async (harness) => {
    await runningDeleted(harness);
    const hypervisor = harness.hypervisor("devstack1");
    const options = periodic({ running_deleted_instance_timeout: 100, running_deleted_instance_poll_interval: 60 });
    const run = await harness.start("devstack1", options);
    await harness.world.advance(50_000);
    expect(hypervisor.guests.has(VM)).toBe(true);
    hypervisor.failures.set("listInstanceUuids", () => new VirtDriverNotReady("later"));
    await harness.world.advance(100_000);
    expect(hypervisor.guests.has(VM)).toBe(true);
    expect(run.runtime.logs.some(({ message }) => message.includes("_cleanup_running_deleted_instances failed"))).toBe(
      false,
    );
    hypervisor.failures.clear();
    await harness.world.advance(60_000);
    expect(hypervisor.guests.has(VM)).toBe(false);
  },
);

scenario("3.5 a reap that fails is logged, and tried again in the next round", async (harness) => {
  await runningDeleted(harness);
  const hypervisor = harness.hypervisor("devstack1");
  hypervisor.failures.set("destroy", () => new Error("stuck"));
  await harness.start("devstack1", periodic({ running_deleted_instance_poll_interval: 60 }));
  await harness.world.advance(10);
  expect(hypervisor.guests.has(VM)).toBe(true);
  hypervisor.failures.clear();
  await harness.world.advance(60_000);
  expect(hypervisor.guests.has(VM)).toBe(false);
});

scenario(
  "4.10 _run_pending_deletes, 3.7 files of deleted instances are removed, and the row says so",
  async (harness) => {
    await runningDeleted(harness);
    harness.hypervisor("devstack1").guests.delete(VM);
    await harness.start("devstack1", periodic());
    await harness.world.advance(301_000);
    expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(false);
    expect(harness.instance(VM)).toMatchObject({ cleaned: true, systemMetadata: { clean_attempts: "1" } });
  },
);

scenario("3.7 files that cannot be removed are tried maximum_instance_delete_attempts times", async (harness) => {
  await runningDeleted(harness);
  const hypervisor = harness.hypervisor("devstack1");
  hypervisor.guests.delete(VM);
  let tries = 0;
  hypervisor.failures.set("deleteInstanceFiles", () => {
    tries += 1;
    return new Error("busy");
  });
  await harness.start("devstack1", periodic({ maximum_instance_delete_attempts: 3 }));
  await harness.world.advance(3_000_000);
  expect(tries).toBe(3);
  expect(harness.instance(VM)).toMatchObject({ cleaned: false, systemMetadata: { clean_attempts: "3" } });
});

scenario(
  "4.10 _cleanup_incomplete_migrations, 3.7 an incomplete migration of an instance deleted elsewhere is cleaned up and failed",
  async (harness) => {
    const { node: s } = await harness.seed("devstack1");
    const { node: d } = await harness.seed("devstack2");
    addInstance(harness.store, VM, placed(d));
    addInstance(harness.store, uuidOf(2), placed(d));
    const source = { sourceCompute: "devstack1", sourceNode: s.hypervisorHostname, destCompute: "devstack2" };
    const deleted = addMigration(harness.store, VM, "migration", "error", source);
    const alive = addMigration(harness.store, uuidOf(2), "migration", "error", source);
    harness.store.instances.destroy(VM);
    harness.hypervisor("devstack1").disks.add(VM);
    await harness.start("devstack1", periodic());
    await harness.world.advance(301_000);
    expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(false);
    expect(harness.store.migrations.get(deleted.id)?.status).toBe("failed");
    expect(harness.store.migrations.get(alive.id)?.status).toBe("error");
  },
);

scenario(
  "4.10 _reclaim_queued_deletes soft-deleted instances are reclaimed when they are old enough",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, placed(node));
    harness.store.instances.save(VM, { vmState: "soft-delete" });
    const run = await harness.start("devstack1", periodic({ reclaim_instance_interval: 300 }));
    await harness.world.advance(200_000);
    expect(run.operations).not.toContain(`terminate ${VM}`);
    await harness.world.advance(200_000);
    expect(run.operations).toContain(`terminate ${VM}`);
  },
);

scenario(
  "4.10 _reclaim_queued_deletes what could not be reclaimed is soft-deleted still, and tried again",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, placed(node));
    harness.store.instances.save(VM, { vmState: "soft-delete" });
    let tries = 0;
    const terminate_instance = async () => {
      tries += 1;
      harness.store.instances.save(VM, { vmState: "error", taskState: null });
      throw new Error("the hypervisor is broken");
    };
    await harness.start("devstack1", {
      ...periodic({ reclaim_instance_interval: 300 }),
      operations: { terminate_instance },
    });
    await harness.world.advance(400_000);
    expect(tries).toBe(1);
    expect(harness.instance(VM)).toMatchObject({ vmState: "soft-delete", taskState: null });
    await harness.world.advance(400_000);
    expect(tries).toBe(2);
    harness.store.instances.save(VM, { vmState: "active" });
    await harness.world.advance(400_000);
    expect([tries, harness.instance(VM).vmState]).toEqual([2, "active"]);
  },
);

scenario(
  "4.10 _reclaim_queued_deletes one that was restored as its turn came is its user's, in error, too",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, placed(node));
    harness.store.instances.save(VM, { vmState: "soft-delete" });
    harness.beforeCall = (_host, method, params) => {
      const { changes } = (params ?? {}) as { readonly changes?: { readonly taskState?: string } };
      if (method === "instance_save" && changes?.taskState === "deleting") {
        harness.store.instances.save(VM, { vmState: "error" });
      }
    };
    const run = await harness.start("devstack1", periodic({ reclaim_instance_interval: 300 }));
    await harness.world.advance(400_000);
    expect(run.runtime.logs.some(({ message }) => message.includes("could not be reclaimed"))).toBe(true);
    expect(harness.instance(VM).vmState).toBe("error");
  },
);

scenario(
  "4.10 _check_instance_build_time a build that takes longer than instance_build_timeout becomes an error",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    const run = await harness.start("devstack1", periodic({ instance_build_timeout: 120 }));
    addInstance(harness.store, VM, { ...placed(node), vmState: "building", taskState: "spawning" });
    await harness.world.advance(100_000);
    expect(harness.instance(VM).vmState).toBe("building");
    await harness.world.advance(100_000);
    expect(harness.instance(VM)).toMatchObject({ vmState: "error", taskState: "spawning" });
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
  scenario(`4.10 _check_instance_build_time one that ${what} by then is left`, async (harness) => {
    const { node } = await harness.seed("devstack1");
    await harness.start("devstack1", periodic({ instance_build_timeout: 120 }));
    const builds = { ...placed(node), vmState: "building", taskState: "networking" } as const;
    addInstance(harness.store, VM, { ...builds, ...(at === "read" ? meanwhile : {}) });
    addInstance(harness.store, uuidOf(2), builds);
    harness.beforeCall = (_host, method, params) => {
      const { uuid } = (params ?? {}) as { readonly uuid?: string };
      if (at === "write" && method === "instance_save" && uuid === VM) {
        harness.store.instances.save(VM, meanwhile);
      }
    };
    await harness.world.advance(200_000);
    expect(harness.instance(VM)).toMatchObject(meanwhile);
    expect(harness.instance(uuidOf(2))).toMatchObject({ vmState: "error", taskState: "networking" });
  });
}

scenario(
  "4.10 _sync_power_states power states are synchronised at once and every 600 s, but not of busy instances",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, placed(node));
    addInstance(harness.store, uuidOf(2), placed(node));
    harness.hypervisor("devstack1").addGuest(VM);
    const run = await harness.start("devstack1", periodic());
    harness.store.instances.save(uuidOf(2), { taskState: "rebooting" });
    await harness.world.advance(10);
    expect(run.operations).toEqual([`sync ${VM}`]);
    await harness.world.advance(600_000);
    expect(run.operations).toEqual([`sync ${VM}`, `sync ${VM}`]);
    expect(run.runtime.logs.some(({ message }) => message.startsWith("2 instances are recorded"))).toBe(true);
  },
);

scenario("4.10 _sync_scheduler_instance_info notifies the scheduler of the host's instances", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.start("devstack1", periodic());
  addInstance(harness.store, VM, placed(node));
  await harness.world.advance(121_000);
  expect([...(harness.controlPlane.conductor.instanceInfo.get("devstack1") ?? [])]).toEqual([VM]);
});

scenario(
  "4.10 update_available_resource, V10 a provider that somebody deleted comes back with the next pass",
  async (harness) => {
    await harness.seed("devstack1");
    await harness.start("devstack1", periodic());
    await harness.removeProvider("devstack1");
    expect(await harness.providers()).toEqual([]);
    await harness.world.advance(61_000);
    expect(await harness.providers()).toEqual(["devstack1"]);
  },
);
