import { expect } from "vitest";
import { OLD, placeVm, REQUEST, resized, startHosts, statusOf, VM } from "../fixtures/cold-moves.js";
import type { ConfigChanges } from "../fixtures/world/nova-config.js";
import type { Harness, HostOptions } from "../unit/agent/support/harness.js";
import { nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { addInstance } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

type Method = "shelve_instance" | "shelve_offload_instance" | "rescue_instance" | (typeof CHANGES)[number][0];

const CHANGES = [
  ["pause_instance", "active", "pausing", "paused", 3, "pause"],
  ["unpause_instance", "paused", "unpausing", "active", 1, "unpause"],
  ["suspend_instance", "active", "suspending", "suspended", 7, "suspend"],
  ["resume_instance", "suspended", "resuming", "active", 1, "resume"],
  ["unrescue_instance", "rescued", "unrescuing", "active", 1, "unrescue"],
  ["soft_delete_instance", "active", "soft-deleting", "soft-delete", 4, "powerOff"],
  ["restore_instance", "soft-delete", "restoring", "active", 1, "powerOn"],
] as const;

function cast(harness: Harness, method: Method, params: object = {}): void {
  const message = { instanceUuid: VM, requestId: REQUEST, ...params };
  harness.controlPlane.conductor.bus.cast("devstack1", method, message as never, REQUEST);
}

for (const [method, from, task, to, power, doing] of CHANGES) {
  scenario(`1.4, V18 ${method}: ${from} → ${to}; what it holds stays bit-equal`, async (harness) => {
    await startHosts(harness);
    const node = await placeVm(harness, { vmState: from });
    harness.store.instances.save(VM, { taskState: task });
    cast(harness, method);
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ vmState: to, powerState: power, host: "devstack1" });
    expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  });

  scenario(`1.6 ${method} fails: fault, task null, the vm_state stays`, async (harness) => {
    await startHosts(harness);
    await placeVm(harness, { vmState: from });
    harness.store.instances.save(VM, { taskState: task });
    harness.hypervisor("devstack1").failures.set(doing, () => new Error("the hypervisor is broken"));
    cast(harness, method);
    await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
    expect(harness.instance(VM).taskState).toBeNull();
    expect(harness.instance(VM).vmState).toBe(from);
    expect(harness.store.instances.fault(VM)).toMatchObject({
      message: "Error",
      details: expect.stringContaining("the hypervisor is broken"),
    });
  });
}

scenario(
  "6.2 soft_delete_instance of a guest that is gone, as a revert had destroyed it: soft-deleted",
  async (harness) => {
    await startHosts(harness);
    const node = await placeVm(harness, { vmState: "resized" });
    harness.store.instances.save(VM, { taskState: "soft-deleting" });
    harness.hypervisor("devstack1").guests.delete(VM);
    cast(harness, "soft_delete_instance");
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ vmState: "soft-delete", powerState: 0 });
    expect(harness.store.instances.fault(VM)).toBeNull();
    expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  },
);

scenario(
  "6.2 soft_delete_instance that overtook an unshelve that has failed since: the conductor deletes it",
  async (harness) => {
    await startHosts(harness);
    await placeVm(harness);
    await harness.hold(VM, {});
    const nowhere = {
      vmState: "shelved_offloaded",
      host: null,
      node: null,
      computeId: null,
      launchedOn: null,
    } as const;
    harness.store.instances.save(VM, { ...nowhere, taskState: "soft-deleting", taskRequestId: REQUEST });
    cast(harness, "soft_delete_instance");
    const task = { kind: "delete_local", instanceUuid: VM, requestId: REQUEST };
    await harness.world.runUntil(() => harness.store.tasks.pending().length > 0);
    expect(harness.store.tasks.pending()).toMatchObject([{ task }]);
  },
);

scenario(
  "6.2 soft_delete_instance of another request than the one that has the server: nothing is done",
  async (harness) => {
    await startHosts(harness);
    await placeVm(harness);
    harness.store.instances.save(VM, { host: null, node: null, computeId: null, launchedOn: null });
    harness.store.instances.save(VM, { taskState: "soft-deleting", taskRequestId: "req-another" });
    cast(harness, "soft_delete_instance");
    await harness.world.advance(60_000);
    expect(harness.store.tasks.pending()).toEqual([]);
    expect(harness.instance(VM)).toMatchObject({
      taskState: "soft-deleting",
      taskRequestId: "req-another",
      deleted: 0,
    });
  },
);

scenario("8.2 rescue_instance: the guest boots from another image, rescued", async (harness) => {
  await startHosts(harness);
  await placeVm(harness);
  harness.store.instances.save(VM, { taskState: "rescuing" });
  cast(harness, "rescue_instance", { rescueImageRef: VM });
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({ vmState: "rescued", powerState: 1 });
});

scenario(
  "6.2 a stop whose instance is deleted meanwhile: the delete has it, and nothing is an error",
  async (harness) => {
    const { runtime } = await harness.start("devstack1", { operations: "real" });
    await harness.start("devstack2", { operations: "real" });
    await placeVm(harness);
    harness.store.instances.save(VM, { taskState: "powering-off" });
    harness.beforeCall = (_, method) => {
      if (method === "instance_save") {
        harness.store.instances.save(VM, { taskState: "deleting" });
      }
    };
    harness.controlPlane.conductor.bus.cast(
      "devstack1",
      "stop_instance",
      { instanceUuid: VM, requestId: REQUEST },
      REQUEST,
    );
    await harness.world.runUntil(() => runtime.logs.some(({ message }) => message.startsWith("stop_instance")));
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: "deleting" });
    expect(runtime.logs.filter(({ level }) => level === "error")).toEqual([]);
  },
);

async function shelving(harness: Harness, config: ConfigChanges = {}) {
  await startHosts(harness, { config });
  const node = await placeVm(harness);
  harness.store.instances.save(VM, { taskState: "shelving" });
  return node;
}

scenario("6.6 shelve, shelved_offload_time 0: snapshot, shelved, offloaded at once (V24)", async (harness) => {
  const observed: unknown[] = [];
  await shelving(harness);
  harness.beforeCall = async (_host, method, params) => {
    const { changes } = params as { readonly changes?: { readonly vmState?: string } };
    if (method === "instance_save" && changes?.vmState) {
      observed.push([changes.vmState, Object.keys(await harness.held(VM)).length]);
    }
  };
  cast(harness, "shelve_instance", { imageId: VM });
  await harness.world.runUntil(() => harness.instance(VM).vmState === "shelved_offloaded");
  expect(observed).toEqual([
    ["shelved", 1],
    ["shelved_offloaded", 0],
  ]);
  expect(harness.instance(VM)).toMatchObject({
    host: null,
    node: null,
    computeId: null,
    launchedOn: null,
    taskState: null,
    systemMetadata: { shelved_image_id: VM, shelved_host: "devstack1" },
  });
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
  await harness.world.advance(1_000);
  expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
});

scenario("6.6, 4.10 shelved_offload_time > 0: the periodic task offloads, not before its time", async (harness) => {
  const defaults = {
    periodic_enable: true,
    periodic_fuzzy_delay: 0,
    shelved_offload_time: 600,
    shelved_poll_interval: 60,
  };
  const node = await shelving(harness, { defaults });
  cast(harness, "shelve_instance", { imageId: VM });
  await harness.world.runUntil(() => harness.instance(VM).vmState === "shelved");
  await harness.world.advance(590_000);
  expect(harness.instance(VM)).toMatchObject({ vmState: "shelved", host: "devstack1", taskState: null });
  expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  await harness.world.advance(120_000);
  expect(harness.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", host: null });
  expect(await harness.held(VM)).toEqual({});
});

scenario("6.6 shelved_offload_time -1: never offloaded", async (harness) => {
  const node = await shelving(harness, { defaults: { shelved_offload_time: -1 } });
  cast(harness, "shelve_instance", { imageId: VM });
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({ vmState: "shelved", host: "devstack1", powerState: 4 });
  expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
});

scenario(
  "6.6 an offload that fails before the delete: shelved, task null, and it keeps what it holds",
  async (harness) => {
    await startHosts(harness);
    const node = await placeVm(harness, { vmState: "shelved", taskState: "shelving_offloading" });
    harness.hypervisor("devstack1").failures.set("destroy", () => new Error("the hypervisor is broken"));
    cast(harness, "shelve_offload_instance");
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    expect(harness.instance(VM)).toMatchObject({ vmState: "shelved", host: "devstack1" });
    expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  },
);

scenario("6.6 OPT an offload that has destroyed the guest and not released: offloaded again", async (harness) => {
  const defaults = { periodic_enable: true, periodic_fuzzy_delay: 0, sync_power_state_interval: 60 };
  const node = await shelving(harness, { defaults });
  const otherVm = "11111111-aaaa-4aaa-8aaa-111111111111";
  const { host, computeId, launchedOn } = harness.instance(VM);
  addInstance(harness.store, otherVm, { host, node: host, computeId, launchedOn, vmState: "shelved", powerState: 4 });
  const { guests } = harness.hypervisor("devstack1");
  guests.set(otherVm, guests.get(VM) ?? expect.unreachable());
  harness.beforePlacement = (_, request) => {
    if (request.startsWith("DELETE /allocations/")) {
      throw new Error("Placement is broken");
    }
  };
  cast(harness, "shelve_instance", { imageId: VM });
  await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
  expect(harness.instance(VM)).toMatchObject({ vmState: "shelved", taskState: null, host: "devstack1" });
  expect(guests.has(VM)).toBe(false);
  expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  harness.beforePlacement = () => {};
  await harness.world.advance(120_000);
  expect(harness.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", taskState: null, host: null });
  expect(await harness.held(VM)).toEqual({});
  // Only instances without a guest.
  expect(harness.instance(otherVm)).toMatchObject({ vmState: "shelved", host: "devstack1" });
});

/** Creates an offloaded instance with a claim on devstack1. */
async function unshelving(harness: Harness, options: HostOptions = {}) {
  await startHosts(harness, options);
  const node = nodeOf(harness, "devstack1");
  const systemMetadata = { shelved_at: "1", shelved_image_id: VM, shelved_host: "devstack2", retained: "yes" };
  addInstance(harness.store, VM, {
    vmState: "shelved_offloaded",
    taskState: "unshelving",
    powerState: 0,
    systemMetadata,
  });
  await harness.hold(VM, { [node.uuid]: OLD });
  const message = {
    instanceUuid: VM,
    allocations: { [node.uuid]: { resources: OLD } },
    node: "devstack1",
    requestId: REQUEST,
  };
  return {
    node,
    begin: () => harness.controlPlane.conductor.bus.cast("devstack1", "unshelve_instance", message, REQUEST),
  };
}

scenario("6.6 unshelve from offloaded: claimed, spawned, active", async (harness) => {
  const { node, begin } = await unshelving(harness);
  begin();
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  expect(harness.instance(VM)).toMatchObject({
    vmState: "active",
    host: "devstack1",
    launchedOn: "devstack1",
    powerState: 1,
  });
  expect(harness.instance(VM).systemMetadata).toEqual({ retained: "yes" });
  expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
  expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(OLD.VCPU);
});

scenario("6.6 unshelve fails to spawn: nothing held, no host, still offloaded", async (harness) => {
  const { begin } = await unshelving(harness);
  harness.hypervisor("devstack1").failures.set("spawn", () => new Error("the hypervisor is broken"));
  begin();
  await harness.world.runUntil(() => harness.instance(VM).taskState === null);
  await harness.world.advance(1_000);
  expect(harness.instance(VM)).toMatchObject({
    vmState: "shelved_offloaded",
    host: null,
    node: null,
    launchedOn: null,
  });
  expect(harness.store.instances.fault(VM)).toMatchObject({ message: "Error" });
  expect(await harness.held(VM)).toEqual({});
  expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
});

scenario(
  "6.6 OPT the guest of a failed unshelve cannot be removed: the instance stays with it until it can",
  async (harness) => {
    const { node, begin } = await unshelving(harness, {
      config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
    });
    const hypervisor = harness.hypervisor("devstack1");
    // The guest is created, and the driver's response is lost.
    hypervisor.failures.set("spawn", () => {
      hypervisor.addGuest(VM);
      return new Error("no answer");
    });
    hypervisor.failures.set("destroy", () => new Error("the hypervisor is broken"));
    begin();
    await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
    await harness.world.advance(300_000);
    expect(hypervisor.guests.has(VM)).toBe(true);
    expect(harness.instance(VM)).toMatchObject({
      vmState: "shelved_offloaded",
      taskState: "spawning",
      host: "devstack1",
    });
    expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
    hypervisor.failures.delete("destroy");
    await harness.world.runUntil(() => harness.instance(VM).taskState === null);
    await harness.world.advance(1_000);
    expect(hypervisor.guests.has(VM)).toBe(false);
    expect(harness.instance(VM)).toMatchObject({
      vmState: "shelved_offloaded",
      host: null,
      node: null,
      launchedOn: null,
    });
    expect(await harness.held(VM)).toEqual({});
    expect(nodeOf(harness, "devstack1").vcpusUsed).toBe(0);
  },
);

for (const [where, method] of [
  ["claimed", "spawn"],
  ["not claimed", "claim"],
] as const) {
  scenario(
    `6.6 OPT a failed unshelve, ${where}, gives back what it holds when Placement is there again`,
    async (harness) => {
      const { node, begin } = await unshelving(harness, {
        config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
      });
      let away = true;
      harness.hypervisor("devstack1").failures.set(method, () => new Error("the hypervisor is broken"));
      harness.beforeCall = (_host, called, params) => {
        if (method === "claim" && called === "instance_save" && /"computeId":\d/.test(JSON.stringify(params))) {
          throw new Error("no room");
        }
      };
      harness.beforePlacement = (_host, request) => {
        if (away && request === `DELETE /allocations/${VM}`) {
          throw new Error("Placement is away");
        }
      };
      begin();
      await harness.world.runUntil(() => harness.store.instances.fault(VM) !== null);
      expect(harness.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", taskState: "spawning" });
      expect(await harness.held(VM)).toEqual({ [node.uuid]: OLD });
      away = false;
      await harness.world.runUntil(() => harness.instance(VM).taskState === null);
      expect(harness.instance(VM)).toMatchObject({ vmState: "shelved_offloaded", host: null, launchedOn: null });
      expect(await harness.held(VM)).toEqual({});
    },
  );
}

scenario(
  "4.10 _poll_unconfirmed_resizes: confirmed when resize_confirm_window has passed, not before",
  async (harness) => {
    const defaults = { periodic_enable: true, periodic_fuzzy_delay: 0, resize_confirm_window: 300 };
    await startHosts(harness, { config: { defaults } });
    const move = await resized(harness);
    await harness.world.advance(290_000);
    expect(statusOf(move)).toBe("finished");
    await harness.world.advance(90_000);
    expect(statusOf(move)).toBe("confirmed");
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null, host: "devstack2" });
  },
);

for (const [name, values, status] of [
  ["in error", { vmState: "error" }, "error"],
  ["in an odd state", { vmState: "stopped" }, "error"],
  ["being deleted", { taskState: "deleting" }, "finished"],
  ["still finishing", { taskState: "resize_finish" }, "finished"],
] as const) {
  scenario(`4.10 _poll_unconfirmed_resizes, instance ${name}: migration ${status}`, async (harness) => {
    const defaults = { periodic_enable: true, periodic_fuzzy_delay: 0, resize_confirm_window: 300 };
    await startHosts(harness, { config: { defaults } });
    const move = await resized(harness);
    harness.store.instances.save(VM, values);
    await harness.world.advance(400_000);
    expect(statusOf(move)).toBe(status);
  });
}

for (const [how, status, values] of [
  ["confirms", "confirmed", { vmState: "active" }],
  ["reverts", "reverting", { taskState: "resize_reverting" }],
] as const) {
  scenario(`4.10 _poll_unconfirmed_resizes: a user who ${how} meanwhile comes first`, async (harness) => {
    const defaults = { periodic_enable: true, periodic_fuzzy_delay: 0, resize_confirm_window: 300 };
    await startHosts(harness, { config: { defaults } });
    const move = await resized(harness);
    let polled = false;
    harness.beforeCall = (who, method) => {
      // The waiting migrations have been read.
      if (who === "devstack2" && method === "instance_get" && !polled) {
        polled = true;
        harness.store.migrations.save(move.migration.id, { status });
        harness.store.instances.save(VM, values);
      }
    };
    await harness.world.runUntil(() => polled);
    await harness.world.advance(1_000);
    expect(statusOf(move)).toBe(status);
  });
}

scenario(
  "4.10 _poll_unconfirmed_resizes: finished as long as the source is down, confirmed when it is back",
  async (harness) => {
    const defaults = { periodic_enable: true, periodic_fuzzy_delay: 0, resize_confirm_window: 300 };
    const options = { operations: "real", config: { defaults } } as const;
    const source = await harness.start("devstack1", options);
    await harness.start("devstack2", options);
    const move = await resized(harness);
    harness.kill(source);
    await harness.world.advance(600_000);
    expect(statusOf(move)).toBe("finished");
    expect(harness.store.messages.pending("devstack1")).toEqual([]);
    await harness.start("devstack1", options);
    await harness.world.advance(120_000);
    expect(statusOf(move)).toBe("confirmed");
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null, host: "devstack2" });
  },
);
