import { describe, expect, test } from "vitest";
import { HostLeaseLost } from "../../src/agent/host-lease.js";
import { ConductorError } from "../../src/conductor-client/errors.js";
import { publicMessageOf } from "../../src/runtime/error-messages.js";
import { BuildAbortException, ComputeResourcesUnavailable } from "../../src/virt/errors.js";
import { checkAllocations, checkPersistedUsage, checkReschedules, checkUsage } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { type AgentOptions, type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";

const RETRY = { numAttempts: 1, hosts: [["h1", "n1"]] } as const;

async function setUp(seed = "build", options: AgentOptions = {}) {
  const world = await TrackerWorld.create(seed);
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"), options);
  const vm = world.instance();
  await world.claim(vm, agent.nodeUuid);
  const { userId, projectId } = vm;
  world.store.actions.start({ action: "create", instanceUuid: vm.uuid, requestId: "req-build", userId, projectId });
  return { world, agent, vm };
}
function failing(agent: TestAgent, at: string, error: Error) {
  agent.hypervisor.fail = (method) => (method === at ? error : undefined);
}
function events(world: TrackerWorld, uuid: string) {
  const [action] = world.store.actions.list(uuid);
  return world.store.actions.events(action?.id ?? 0).map(({ event, result }) => [event, result]);
}

describe("6.1 build, rows 4-7", () => {
  test("6.1 rows 4-7 in order: building, claimed, networking, block devices, spawning, active", async () => {
    const { world, agent, vm } = await setUp();
    await world.build(agent, vm);
    expect(world.stored(vm.uuid)).toMatchObject({
      host: "h1",
      node: "n1",
      launchedOn: "h1",
      vmState: "active",
      taskState: null,
      powerState: 1,
      launchedAt: world.runtime.clock.now(),
    });
    const relevantSteps = agent.steps.filter((step) => /"taskState"|driver (prepare|spawn)/.test(step));
    expect(relevantSteps.map((step) => step.match(/driver \w+|"taskState":(null|"\w+")/)?.[0])).toEqual([
      `"taskState":null`,
      `"taskState":"networking"`,
      "driver prepareForSpawn",
      `"taskState":"block_device_mapping"`,
      `"taskState":"spawning"`,
      "driver spawn",
      `"taskState":null`,
    ]);
    expect(events(world, vm.uuid)).toEqual([["compute__do_build_and_run_instance", "Success"]]);
    await checkAllocations(world, [vm]);
    checkUsage(world, agent);
  });

  test("6.1 row 4 not building any more (an agent that restarted set it to error): nothing is built, {}", async () => {
    const { world, agent, vm } = await setUp();
    world.store.instances.save(vm.uuid, { vmState: "error", taskState: null });
    await world.build(agent, vm);
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", host: null });
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("6.1 row 4 an old message for an instance that a host owns: its allocations stay", async () => {
    const { world, agent, vm } = await setUp();
    await world.build(agent, vm);
    const before = await world.held(vm.uuid);
    agent.hypervisor.calls.length = 0;
    await world.build(agent, vm);
    expect(agent.hypervisor.calls).toEqual([]);
    expect(await world.held(vm.uuid)).toEqual(before);
    expect(world.stored(vm.uuid).vmState).toBe("active");
  });

  test.each(["deleting", "gone"])("6.1 row 4 %s: FAILED, {}", async (how) => {
    const { world, agent, vm } = await setUp();
    if (how === "gone") {
      world.store.instances.destroy(vm.uuid);
    } else {
      world.store.instances.save(vm.uuid, { taskState: "deleting" });
    }
    await world.build(agent, vm);
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(await world.held(vm.uuid)).toEqual({});
    if (how === "deleting") {
      expect(world.stored(vm.uuid).taskState).toBe("deleting");
    }
  });

  test.each([
    ["makes it active", undefined, { vmState: "active", taskState: null, host: "h1" }],
    ["is tried elsewhere", new Error("broken"), { vmState: "building", taskState: "scheduling", host: null }],
  ])("4.10 one that took so long that it was set to error %s all the same", async (_, error, left) => {
    const { world, agent, vm } = await setUp();
    agent.hypervisor.fail = (method) => {
      if (method !== "spawn") {
        return undefined;
      }
      world.store.instances.save(vm.uuid, { vmState: "error" });
      return error;
    };
    await world.build(agent, vm, { retry: RETRY });
    expect(world.stored(vm.uuid)).toMatchObject(left);
  });

  const deletedWhileSpawning = async (seed?: string) => {
    const cluster = await setUp(seed);
    const { world, agent, vm } = cluster;
    agent.hypervisor.fail = (method) => {
      if (method === "spawn") {
        world.store.instances.save(vm.uuid, { taskState: "deleting" });
      }
      return undefined;
    };
    return cluster;
  };

  test("6.1 row 7 deleted while it was spawning: guest removed; the delete finds it on the host, {}", async () => {
    const { world, agent, vm } = await deletedWhileSpawning();
    await world.build(agent, vm);
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", taskState: "deleting", vmState: "building" });
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-delete" });
    expect(await world.held(vm.uuid)).toEqual({});
    expect(world.store.instances.get(vm.uuid, { readDeleted: true })).toMatchObject({ vmState: "deleted" });
    expect(world.store.instances.get(vm.uuid)).toBeNull();
    checkPersistedUsage(world, agent);
  });

  test("6.1 row 7 deleted while it was spawning, and the agent dies: the next start finds it on the host", async () => {
    const { agent: baseline, world: first, vm: sample } = await deletedWhileSpawning();
    await first.build(baseline, sample);
    const spawned = baseline.steps.findIndex((step) => step.includes("driver spawn"));
    expect(baseline.steps.length - spawned).toBeGreaterThan(3);
    for (let step = spawned + 1; step < baseline.steps.length; step += 1) {
      const { world, agent, vm } = await deletedWhileSpawning(`kill ${step}`);
      const dead = agent.dieBefore(step);
      void world.build(agent, vm);
      await dead;
      expect(world.store.instances.byHost("h1").map(({ uuid, taskState }) => [uuid, taskState])).toEqual([
        [vm.uuid, "deleting"],
      ]);
    }
  });

  test.each([
    ["force_config_drive of the host", true, {}],
    ["img_config_drive of the image", false, { image_img_config_drive: "mandatory" }],
  ])("%s gives a server a config drive that its user did not ask for", async (_what, forceConfigDrive, metadata) => {
    const { world, agent, vm } = await setUp("config-drive", { config: { defaults: { forceConfigDrive } } });
    world.store.instances.save(vm.uuid, { systemMetadata: { ...vm.systemMetadata, ...metadata } });
    let spawned: unknown;
    agent.hypervisor.fail = (method) => {
      spawned = method === "spawn" ? world.stored(vm.uuid).configDrive : spawned;
      return undefined;
    };
    await world.build(agent, vm);
    expect([spawned, world.stored(vm.uuid)]).toMatchObject([true, { vmState: "active", configDrive: true }]);
  });

  test("max_concurrent_builds bounds the builds; a delete does not wait for the queue", async () => {
    const { world, agent } = await setUp("queue", { config: { defaults: { maxConcurrentBuilds: 2 } } });
    let [running, most] = [0, 0];
    agent.hypervisor.fail = async (method) => {
      if (method !== "spawn") {
        return undefined;
      }
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return undefined;
    };
    const vms = Array.from({ length: 6 }, () => world.instance());
    for (const vm of vms) {
      await world.claim(vm, agent.nodeUuid);
    }
    const builds = vms.map((vm) => world.build(agent, vm));
    const last = vms.at(-1);
    expect(agent.operations.active).toBe(6);
    if (last) {
      world.store.instances.save(last.uuid, { taskState: "deleting" });
      await agent.operations.run("terminate_instance", { instanceUuid: last.uuid, requestId: "req-delete" });
      expect(world.store.instances.get(last.uuid), "gone before its build had its turn").toBeNull();
    }
    await Promise.all(builds);
    expect(most).toBe(2);
    expect(agent.operations.active).toBe(0);
    expect(agent.hypervisor.guests.size).toBe(5);
    await checkAllocations(world, vms);
    checkUsage(world, agent);
  });
});

test("6.9 row 5 members of one anti-affinity group that are built here at once: the first stays, the others are handed back", async () => {
  const { world, agent } = await setUp("group");
  const owner = { projectId: "project", userId: "user", name: "apart" };
  const group = world.store.serverGroups.create({ ...owner, policy: "anti-affinity", maxServerPerHost: 0 });
  const members = Array.from({ length: 3 }, () => world.instance());
  for (const { uuid } of members) {
    world.store.serverGroups.addMember(group.id, uuid, "user");
    await world.claim(world.stored(uuid), agent.nodeUuid);
  }
  await Promise.all(members.map((vm) => world.build(agent, vm, { retry: RETRY, serverGroup: group.uuid })));
  const states = members.map(({ uuid }) => world.stored(uuid)).map(({ host, taskState }) => [host, taskState]);
  expect(states.filter(([host]) => host !== null)).toEqual([["h1", null]]);
  expect(states.filter(([host]) => host === null)).toEqual([
    [null, "scheduling"],
    [null, "scheduling"],
  ]);
  expect(world.reschedules.map(({ reason }) => reason)).toEqual(
    Array.from({ length: 2 }, () => "Anti-affinity instance group policy was violated"),
  );
  expect(world.store.computeNodes.byHost("h1")[0]?.stats.failed_builds).toBe("0");
  checkReschedules(world);
  checkUsage(world, agent);
});

describe("6.1 build, failures", () => {
  test.each([
    ["getAvailableNodes", new ComputeResourcesUnavailable("full")],
    ["prepareForSpawn", new ComputeResourcesUnavailable("full")],
    ["spawn", new ComputeResourcesUnavailable("full")],
    ["spawn", new Error("qemu died")],
  ])(
    "6.1 reschedulable error in %s (%o), retry info: off the host, {} before the message back (V25)",
    async (at, error) => {
      const { world, agent, vm } = await setUp();
      failing(agent, at, error);
      await world.build(agent, vm, { retry: RETRY });
      expect(world.stored(vm.uuid)).toMatchObject({
        host: null,
        node: null,
        computeId: null,
        // Set until the conductor has the build (2.7).
        launchedOn: "h1",
        availabilityZone: null,
        vmState: "building",
        taskState: "scheduling",
      });
      expect(world.reschedules).toMatchObject([
        { instanceUuid: vm.uuid, retry: RETRY, reason: publicMessageOf(error) },
      ]);
      checkReschedules(world);
      checkUsage(world, agent);
      expect(agent.hypervisor.guests.size).toBe(0);
      expect(agent.hypervisor.calls.includes(`failedSpawnCleanup ${vm.uuid}`)).toBe(at !== "getAvailableNodes");
      // 8.2: the ports that the build plugged.
      expect(agent.hypervisor.calls.includes(`unplugVifs ${vm.uuid}`)).toBe(at !== "getAvailableNodes");
      expect(world.store.instances.fault(vm.uuid)).toBeNull();
    },
  );

  test("6.1 reschedulable, no retry info: vm error, host null, fault, {}", async () => {
    const { world, agent, vm } = await setUp();
    failing(agent, "spawn", new Error("qemu died"));
    await expect(world.build(agent, vm)).rejects.toThrow("qemu died");
    expect(world.stored(vm.uuid)).toMatchObject({ host: null, vmState: "error", taskState: null, launchedOn: null });
    expect(world.store.instances.fault(vm.uuid)).toMatchObject({
      message: "Error",
      details: expect.stringContaining("Error: qemu died"),
      host: "h1",
      code: 500,
    });
    expect(world.reschedules).toEqual([]);
    expect(events(world, vm.uuid)).toEqual([["compute__do_build_and_run_instance", "Success"]]);
    await checkAllocations(world, [vm]);
    checkUsage(world, agent);
  });

  test("6.1 abort class: not rescheduled in spite of retry info", async () => {
    const { world, agent, vm } = await setUp();
    failing(agent, "spawn", new BuildAbortException("no such network"));
    await expect(world.build(agent, vm, { retry: RETRY })).rejects.toThrow("no such network");
    expect(world.reschedules).toEqual([]);
    expect(world.stored(vm.uuid)).toMatchObject({ host: null, vmState: "error" });
    await checkAllocations(world, [vm]);
  });

  test("6.1 abort class: what no agent can give is refused before anything is claimed or made, and its fault says why", async () => {
    const { world, agent, vm } = await setUp();
    const built = world.build(agent, vm, { retry: RETRY, unservable: "this host attaches no networks" });
    await expect(built).rejects.toThrow(`Build of instance ${vm.uuid} aborted: this host attaches no networks`);
    expect(agent.steps.filter((step) => /driver (prepare|spawn)/.test(step))).toEqual([]);
    expect(world.reschedules).toEqual([]);
    expect(world.stored(vm.uuid)).toMatchObject({ host: null, vmState: "error", taskState: null });
    expect(world.store.instances.fault(vm.uuid)?.message).toMatch(/attaches no networks/);
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("6.1 abort class: somebody sets its state while it is claimed, and does not delete it", async () => {
    const { world, agent, vm } = await setUp();
    agent.hypervisor.fail = (method) => {
      if (method === "getAvailableNodes") {
        world.store.instances.save(vm.uuid, { taskState: "scheduling" });
      }
      return undefined;
    };
    await expect(world.build(agent, vm, { retry: RETRY })).rejects.toThrow(/found task_state scheduling/);
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", taskState: null, host: null });
    expect(world.store.instances.fault(vm.uuid)?.message).toMatch(/found task_state scheduling/);
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(await world.held(vm.uuid)).toEqual({});
    expect(world.reschedules).toEqual([]);
  });

  test("6.1 OPT abort class: the clean-up after a failed spawn fails; the instance stays with its guest", async () => {
    const { world, agent, vm } = await setUp();
    agent.hypervisor.fail = (method) => (method === "spawn" || method === "destroy" ? new Error(method) : undefined);
    await expect(world.build(agent, vm, { retry: RETRY })).rejects.toThrow(
      "could not remove the leftovers of the failed build: Error (after: Error)",
    );
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", vmState: "error", taskState: null });
    await checkAllocations(world, [vm]);
    checkPersistedUsage(world, agent);
    expect(world.reschedules).toEqual([]);
    agent.hypervisor.fail = () => undefined;
    world.store.instances.save(vm.uuid, { taskState: "deleting" });
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-delete" });
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("V25 Placement is gone when the allocations should go: no message back, vm error", async () => {
    const { world, agent, vm } = await setUp();
    failing(agent, "spawn", new Error("qemu died"));
    agent.http.fault = () => "refused";
    await expect(world.build(agent, vm, { retry: RETRY })).rejects.toThrow("qemu died");
    expect(world.reschedules).toEqual([]);
    expect(world.stored(vm.uuid)).toMatchObject({ host: null, vmState: "error", taskState: null });
  });

  test("6.1 the claim's update fails: rescheduled as any other error", async () => {
    const { world, agent, vm } = await setUp();
    failing(agent, "updateProviderTree", new Error("driver broke"));
    await world.build(agent, vm, { retry: RETRY });
    expect(world.reschedules).toHaveLength(1);
    checkReschedules(world);
    checkUsage(world, agent);
  });

  test("6.1 failed_builds: counted for each failed build, set back by a success, not for a deleted instance", async () => {
    const { world, agent, vm } = await setUp();
    const failedBuilds = async () => {
      await agent.tracker.updateAvailableResource({ startup: false });
      return agent.tracker.nodes().get("n1")?.stats.failed_builds;
    };
    failing(agent, "spawn", new Error("qemu died"));
    await world.build(agent, vm, { retry: RETRY });
    expect(await failedBuilds()).toBe("1");
    const second = world.instance();
    await world.build(agent, second).catch(() => undefined);
    expect(await failedBuilds()).toBe("2");
    const deleted = world.instance({ taskState: "deleting" });
    await world.build(agent, deleted);
    expect(await failedBuilds()).toBe("2");
    agent.hypervisor.fail = () => undefined;
    await world.build(agent, world.instance());
    expect(await failedBuilds()).toBe("0");
  });

  test.each([
    ["the host lease is lost", new HostLeaseLost("h1", "another agent took it")],
    [
      "the conductor did not answer: it may have written what was asked",
      new ConductorError("MessagingTimeout", "60 s"),
    ],
  ])("%s: nothing is undone, as after a crash", async (_, error) => {
    const { world, agent, vm } = await setUp();
    agent.session.fail = ({ params }) => (JSON.stringify(params).includes(`"vmState":"active"`) ? error : undefined);
    const before = await world.held(vm.uuid);
    await expect(world.build(agent, vm, { retry: RETRY })).rejects.toBe(error);
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(true);
    expect(await world.held(vm.uuid)).toEqual(before);
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", taskState: "spawning" });
    checkUsage(world, agent);
  });
});
