import { describe, expect, test } from "vitest";
import type { RequestOf } from "../../src/agent/operations/flow/contract.js";
import { ConductorError } from "../../src/conductor-client/errors.js";
import { flavorResources, type Instance, markInterruptedRebuild } from "../../src/records/index.js";
import { ComputeResourcesUnavailable } from "../../src/virt/errors.js";
import { checkEvacuationOrder, checkPersistedUsage, checkUsage } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { TrackerWorld } from "../fixtures/tracker-world.js";

/** Creates the record of an evacuation from h1 to h2 that the conductor has handed over. */
function accepted({ store }: TrackerWorld, { uuid: instanceUuid }: Pick<Instance, "uuid">) {
  const changes = { sourceCompute: "h1", sourceNode: "n1", destCompute: "h2" };
  return store.migrations.create({ instanceUuid, migrationType: "evacuation", status: "accepted", changes });
}

async function setUp(changes = {}, seed = "evacuate") {
  const world = await TrackerWorld.create(seed);
  const source = await world.startedAgent("h1", new StubHypervisor("n1"));
  const agent = await world.startedAgent("h2", new StubHypervisor("n2"));
  const vm = await world.placed(source, { taskState: "rebuilding", ...changes });
  await world.claim(vm, agent.nodeUuid);
  const migration = accepted(world, vm);
  const evacuate = (options: Partial<RequestOf<"rebuild_instance">> = {}) =>
    agent.operations.run("rebuild_instance", {
      instanceUuid: vm.uuid,
      migrationId: migration.id,
      onSharedStorage: null,
      recreate: true,
      node: "n2",
      imageRef: vm.imageRef,
      targetStopped: false,
      requestId: "req-e",
      ...options,
    });
  const need = flavorResources(vm.flavor);
  const both = { [source.nodeUuid]: need, [agent.nodeUuid]: need };
  const onlySource = { [source.nodeUuid]: need };
  const status = () => world.store.migrations.get(migration.id)?.status;
  return { world, source, agent, vm, migration, evacuate, both, onlySource, status };
}

describe("6.7 evacuation on the destination, rows 3-6", () => {
  test("6.7 rows 3-6: claim, spawn, host here, done; {S:F0, D:F0} (V28, V20)", async () => {
    const { world, agent, vm, evacuate, both, status } = await setUp();
    await evacuate();
    expect(status()).toBe("done");
    expect(world.stored(vm.uuid)).toMatchObject({
      host: "h2",
      node: "n2",
      launchedOn: "h1",
      vmState: "active",
      taskState: null,
      powerState: 1,
      migrationContext: null,
    });
    expect(await world.held(vm.uuid)).toEqual(both);
    expect(agent.hypervisor.guests.get(vm.uuid)).toBe(1);
    checkEvacuationOrder(agent, vm.uuid);
    checkPersistedUsage(world, agent);
    const tasks = agent.steps.flatMap((step) => step.match(/"taskState":"(\w+)"/)?.[1] ?? []);
    expect(tasks).toEqual(["rebuild_block_device_mapping", "rebuild_spawning"]);
  });

  test.each([
    ["the guest was stopped", { vmState: "stopped" }, false, "stopped"],
    ["API 2.95 wants it stopped", {}, true, "stopped"],
    ["API 2.95, but it was in error", { vmState: "error" }, true, "active"],
    ["it was in error", { vmState: "error" }, false, "active"],
  ])("6.7 row 5 %s: ends %s", async (_, changes, targetStopped, vmState) => {
    const { world, agent, vm, evacuate, status } = await setUp(changes);
    await evacuate({ targetStopped });
    const powerState = vmState === "stopped" ? 4 : 1;
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h2", vmState, powerState, taskState: null });
    expect(agent.hypervisor.guests.get(vm.uuid)).toBe(powerState);
    expect(status()).toBe("done");
    checkPersistedUsage(world, agent);
  });

  test("6.7 row 3 the node is unknown: failed, D stripped, vm unchanged, task null", async () => {
    const { world, agent, vm, evacuate, onlySource, status } = await setUp();
    agent.hypervisor.nodes.clear();
    await expect(evacuate()).rejects.toThrow(ComputeResourcesUnavailable);
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "active", taskState: null, host: "h1" });
    expect(await world.held(vm.uuid)).toEqual(onlySource);
    expect(world.store.instances.fault(vm.uuid)?.host).toBe("h2");
    checkUsage(world, agent);
  });

  test.each(["active", "stopped"] as const)(
    "6.7 row 3 OPT a claim that is refused leaves a server in error that was %s and in a rebuild",
    async (vmState) => {
      const mark = markInterruptedRebuild({ systemMetadata: {} }, "req-e");
      const { world, agent, vm, evacuate, status } = await setUp({ vmState, taskRequestId: "req-e", ...mark });
      agent.hypervisor.nodes.clear();
      await expect(evacuate()).rejects.toThrow(ComputeResourcesUnavailable);
      expect(status()).toBe("failed");
      expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", taskState: null, host: "h1" });
    },
  );

  test.each([
    ["6.7 row 4 the driver cannot evacuate", "InstanceRecreateNotSupported", null],
    ["6.7 row 4 the guest exists on D", "InstanceExists", null],
    ["3.3 the hint says shared, the files are not here", "InvalidSharedStorage", true],
    ["6.7 row 4 spawn fails", "Error", null],
  ])("%s: failed, D stripped, vm error, host S", async (_, name, onSharedStorage) => {
    const { world, agent, vm, evacuate, onlySource, status, migration } = await setUp();
    if (name === "InstanceExists") {
      agent.hypervisor.guests.set(vm.uuid, 1);
    }
    if (name === "Error") {
      agent.hypervisor.fail = (method) => (method === "spawn" ? new Error("qemu died") : undefined);
    }
    let tested = { agent, evacuate };
    if (name === "InstanceRecreateNotSupported") {
      agent.hypervisor.capabilities = { supportsEvacuate: false };
      const again = await world.startedAgent("h2", agent.hypervisor);
      const request = { instanceUuid: vm.uuid, migrationId: migration.id, onSharedStorage: null, recreate: true };
      const rest = { node: "n2", imageRef: "", targetStopped: false, requestId: "req-e" };
      tested = { agent: again, evacuate: () => again.operations.run("rebuild_instance", { ...request, ...rest }) };
    }
    await expect(tested.evacuate({ onSharedStorage })).rejects.toMatchObject({ name });
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({
      vmState: "error",
      taskState: null,
      host: "h1",
      migrationContext: null,
    });
    expect(await world.held(vm.uuid)).toEqual(onlySource);
    expect(agent.hypervisor.guests.has(vm.uuid), "a guest that it did not make is not destroyed").toBe(
      name === "InstanceExists",
    );
    checkPersistedUsage(world, tested.agent);
  });

  test("6.7 row 4 OPT the guest cannot be removed: not over until it can, so that a source that returns waits", async () => {
    const { world, agent, vm, evacuate, both, onlySource, status } = await setUp();
    agent.hypervisor.fail = (method) => {
      // The guest is created, and the driver's response is lost.
      if (method === "spawn") {
        agent.hypervisor.guests.set(vm.uuid, 1);
      }
      return method === "spawn" || method === "destroy" ? new Error("qemu hangs") : undefined;
    };
    await expect(evacuate()).rejects.toThrow("qemu hangs");
    await agent.operations.removeLeftGuests();
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(true);
    expect(status()).toBe("pre-migrating");
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", taskState: "rebuild_spawning" });
    expect(await world.held(vm.uuid)).toEqual(both);
    agent.hypervisor.fail = () => undefined;
    await agent.operations.removeLeftGuests();
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(false);
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", vmState: "error", taskState: null });
    expect(await world.held(vm.uuid)).toEqual(onlySource);
    checkPersistedUsage(world, agent);
  });

  test.each([true, false])(
    "6.7 row 4 OPT the next evacuation to here removes what the last one left, and ends it first (V28); it can: %s",
    async (removable) => {
      const { world, agent, vm, evacuate, both, status } = await setUp();
      agent.hypervisor.fail = (method) => {
        if (method === "spawn") {
          agent.hypervisor.guests.set(vm.uuid, 1);
        }
        return method === "spawn" || method === "destroy" ? new Error("qemu hangs") : undefined;
      };
      await expect(evacuate()).rejects.toThrow("qemu hangs");
      const later = accepted(world, vm);
      world.store.instances.save(vm.uuid, { taskState: "rebuilding", taskRequestId: "req-later" });
      if (removable) {
        agent.hypervisor.fail = () => undefined;
      }
      const again = evacuate({ migrationId: later.id, requestId: "req-later" });
      const ended = await again.then(
        () => "done",
        (error: Error) => error.message,
      );
      expect(ended).toBe(removable ? "done" : "qemu hangs");
      expect(status()).toBe(removable ? "failed" : "pre-migrating");
      expect(world.store.migrations.get(later.id)?.status).toBe(removable ? "done" : "failed");
      expect(world.stored(vm.uuid).host).toBe(removable ? "h2" : "h1");
      expect(await world.held(vm.uuid)).toEqual(both);
      agent.hypervisor.fail = () => undefined;
      await agent.operations.removeLeftGuests();
      expect(agent.hypervisor.guests.has(vm.uuid)).toBe(removable);
      expect(status()).toBe("failed");
    },
  );

  test("3.3 hint and probe agree: the disk is reused, and a failure leaves it to the source", async () => {
    const { agent, vm, evacuate, status } = await setUp();
    agent.hypervisor.disks.add(vm.uuid);
    agent.hypervisor.fail = (method) => (method === "spawn" ? new Error("qemu died") : undefined);
    await expect(evacuate({ onSharedStorage: true })).rejects.toThrow("qemu died");
    expect(agent.hypervisor.disks.has(vm.uuid)).toBe(true);
    expect(status()).toBe("failed");
  });

  test("6.7 row 4 the allocations cannot be read: failed, vm error, nothing was claimed", async () => {
    const { world, agent, vm, evacuate, status } = await setUp();
    agent.http.fault = ({ path }) => (path === `/allocations/${vm.uuid}` ? { status: 500 } : undefined);
    await expect(evacuate()).rejects.toMatchObject({ name: "ConsumerAllocationRetrievalFailed" });
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", host: "h1" });
    expect(world.logged("error", "could not remove the destination's allocations")).toBe(1);
  });

  test("6.7 row 4 deleted meanwhile: failed, the guest is taken back, D stripped, the state is the delete's", async () => {
    const { world, agent, vm, evacuate, onlySource, status } = await setUp();
    agent.hypervisor.fail = (method) => {
      if (method === "spawn") {
        world.store.instances.save(vm.uuid, { taskState: "deleting" });
      }
      return undefined;
    };
    await evacuate();
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", taskState: "deleting", vmState: "active" });
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(false);
    expect(await world.held(vm.uuid)).toEqual(onlySource);
    checkPersistedUsage(world, agent);
  });

  test("6.7 row 4 destroyed meanwhile (local delete while S is down): {}, no guest", async () => {
    const { world, agent, vm, evacuate } = await setUp();
    agent.hypervisor.fail = async (method) => {
      if (method !== "spawn") {
        return undefined;
      }
      await world.admin.deleteAllocation(vm.uuid, { force: true });
      world.store.instances.destroy(vm.uuid);
      return undefined;
    };
    await evacuate();
    expect(await world.held(vm.uuid)).toEqual({});
    expect(agent.hypervisor.guests.size).toBe(0);
    checkPersistedUsage(world, agent);
  });

  test("3.4 the source completed the record meanwhile: D finishes, and says done again", async () => {
    const { world, source, agent, vm, migration, evacuate, status } = await setUp();
    agent.hypervisor.fail = async (method) => {
      if (method !== "spawn") {
        return undefined;
      }
      const root = source.nodeUuid;
      await world.admin.removeProviderTreeFromInstanceAllocation(vm.uuid, root, { retry: false });
      world.store.migrations.save(migration.id, { status: "completed" });
      return undefined;
    };
    await evacuate();
    expect(status()).toBe("done");
    expect(Object.keys(await world.held(vm.uuid))).toEqual([agent.nodeUuid]);
    expect(world.stored(vm.uuid).host).toBe("h2");
  });

  test("an old message, for an evacuation that has ended or an instance that is here: nothing is done", async () => {
    const { world, agent, vm, evacuate, both, status } = await setUp();
    await evacuate();
    const after = world.stored(vm.uuid);
    agent.hypervisor.calls.length = 0;
    await evacuate();
    expect(agent.hypervisor.calls).toEqual([]);
    expect(world.stored(vm.uuid)).toEqual(after);
    expect(await world.held(vm.uuid)).toEqual(both);
    expect(status()).toBe("done");
  });

  test("a later evacuation to this host has the instance: the first gives up, and leaves what the later one claimed", async () => {
    const { world, agent, vm, evacuate, both, status } = await setUp();
    const later = accepted(world, vm);
    world.store.instances.save(vm.uuid, { taskState: "rebuilding", taskRequestId: "req-later" });
    const before = world.stored(vm.uuid);
    await evacuate();
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toEqual(before);
    expect(await world.held(vm.uuid)).toEqual(both);
    await evacuate({ migrationId: later.id, requestId: "req-later" });
    expect(world.store.migrations.get(later.id)?.status).toBe("done");
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h2", vmState: "active", taskState: null });
    expect(await world.held(vm.uuid)).toEqual(both);
    checkPersistedUsage(world, agent);
  });

  test("a later evacuation takes the instance while its guest is made: the first takes it back", async () => {
    const { world, agent, vm, evacuate, both, status } = await setUp();
    agent.hypervisor.fail = (method) => {
      if (method !== "spawn") {
        return undefined;
      }
      accepted(world, vm);
      world.store.instances.save(vm.uuid, { taskState: "rebuilding", taskRequestId: "req-later" });
      return undefined;
    };
    await evacuate();
    expect(status()).toBe("failed");
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", vmState: "active", taskState: "rebuilding" });
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(false);
    expect(await world.held(vm.uuid)).toEqual(both);
  });

  test("6.7 row 3 a conflict when D is stripped is tried again", async () => {
    const { world, agent, vm, evacuate, onlySource } = await setUp();
    agent.hypervisor.fail = (method) => (method === "spawn" ? new Error("qemu died") : undefined);
    let conflicts = 2;
    agent.http.fault = ({ method, path }) =>
      method === "PUT" && path.startsWith("/allocations/") && conflicts-- > 0
        ? { status: 409, body: { errors: [{ status: 409, code: "placement.concurrent_update", detail: "" }] } }
        : undefined;
    await expect(evacuate()).rejects.toThrow("qemu died");
    expect(await world.held(vm.uuid)).toEqual(onlySource);
  });

  test("the conductor does not answer to the last write: the guest is not taken back, as it may be wanted", async () => {
    const { world, agent, vm, evacuate, both, status } = await setUp();
    const timeout = new ConductorError("MessagingTimeout", "60 s");
    let written = false;
    agent.session.done = ({ params }) => {
      written ||= JSON.stringify(params).includes(`"status":"done"`);
      if (written) {
        throw timeout;
      }
    };
    await expect(evacuate()).rejects.toThrow(timeout);
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(true);
    expect(await world.held(vm.uuid)).toEqual(both);
    expect([world.stored(vm.uuid).host, status()]).toEqual(["h2", "done"]);
    agent.session.done = () => undefined;
    await agent.tracker.updateAvailableResource({ startup: false });
    checkPersistedUsage(world, agent);
  });

  test("6.7 at most the requests of nova-compute", async () => {
    const { agent, evacuate, vm } = await setUp();
    await evacuate();
    expect(agent.http.take().map(({ method, path }) => `${method} ${path}`)).toEqual([`GET /allocations/${vm.uuid}`]);
  });
});

describe("6.7 the destination is killed before each step", () => {
  test("6.7 killed: never host = D without status done, S keeps its allocation, usage is right after the restart", async () => {
    const { agent: baseline, evacuate: run } = await setUp();
    await run();
    const steps = baseline.steps.length;
    expect(steps).toBeGreaterThan(8);
    for (let step = 0; step < steps; step += 1) {
      const { world, agent, vm, evacuate, both, status } = await setUp({}, `kill ${step}`);
      const dead = agent.dieBefore(step);
      void evacuate();
      await dead;
      const here = world.stored(vm.uuid).host === "h2";
      expect(status() === "done", `killed before step ${step}: ${agent.steps.at(-1)}`).toBe(here);
      expect(await world.held(vm.uuid)).toEqual(both);
      const again = await world.startedAgent("h2", agent.hypervisor);
      checkPersistedUsage(world, again);
      expect(again.tracker.nodes().get("n2")?.vcpusUsed).toBe(here || status() === "pre-migrating" ? 1 : 0);
    }
  });
});
