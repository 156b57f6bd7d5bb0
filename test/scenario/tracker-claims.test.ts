import { describe, expect, test } from "vitest";
import type { AgentMetrics } from "../../src/agent/metrics/metrics.js";
import { ComputeResourcesUnavailable } from "../../src/virt/errors.js";
import { checkPersistedUsage, checkUsage, countChecks } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";

async function setUp() {
  const world = await TrackerWorld.create();
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
  return { world, agent };
}
async function claim(world: TrackerWorld, agent: TestAgent, node = "n1") {
  const instance = world.instance();
  await world.claim(instance, agent.nodeUuid);
  return {
    instance,
    made: () => agent.tracker.instanceClaim(instance, node, { [agent.nodeUuid]: { resources: { VCPU: 1 } } }),
  };
}
async function evacuation(world: TrackerWorld, agent: TestAgent, changes = {}) {
  const source = await world.startedAgent("h0", new StubHypervisor("n0"));
  const instance = await world.placed(source, { taskState: "rebuilding", ...changes });
  await world.claim(instance, agent.nodeUuid);
  const migration = world.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: "evacuation",
    status: "accepted",
    changes: { sourceCompute: "h0", sourceNode: "n0" },
  });
  return { instance, migration };
}

describe("4.2 instance_claim", () => {
  test("4.2 host, launched_on, node and compute id are saved, usage is added, the row is updated", async () => {
    const { world, agent } = await setUp();
    const { instance, made } = await claim(world, agent);
    const { instance: saved, migration } = await made();
    const node = world.store.computeNodes.getByHostAndNode("h1", "n1");
    expect(saved).toEqual(world.stored(instance.uuid));
    expect(saved).toMatchObject({ host: "h1", node: "n1", launchedOn: "h1", computeId: node?.id });
    expect(migration).toBeNull();
    expect(countChecks(world), "V20 was judged").toBeGreaterThan(0);
    checkPersistedUsage(world, agent);
    expect(node).toMatchObject({ vcpusUsed: 1, runningVms: 1, memoryMbUsed: 1024 });
  });

  test("4.2 steady node: a claim asks nothing of Placement", async () => {
    const { world, agent } = await setUp();
    await (await claim(world, agent)).made();
    expect(agent.http.requests).toEqual([]);
  });

  test("5.1 row 6 a claim of a device has what is remembered of its provider read again, and of no other", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    hypervisor.editTree = (tree, node) => {
      for (const name of ["n1_pci_0", "n1_pci_1"]) {
        if (!tree.find(name)) {
          tree.newChild(name, node, world.runtime.random.uuid());
        }
        const unit = { reserved: 0, minUnit: 1, stepSize: 1, allocationRatio: 1 };
        tree.updateInventory(name, { CUSTOM_PCI_10DE_1DB4: { ...unit, total: 1, maxUnit: 1 } });
      }
    };
    const agent = await world.startedAgent("h1", hypervisor);
    const tree = await agent.placement.getProviderTreeAndEnsureRoot(agent.nodeUuid, "n1", { requestId: "req-test" });
    const device = tree.data("n1_pci_0").uuid;
    agent.http.take();
    const devices = { [device]: { resources: { CUSTOM_PCI_10DE_1DB4: 1 } } };
    await agent.tracker.instanceClaim(world.instance(), "n1", {
      [agent.nodeUuid]: { resources: { VCPU: 1 } },
      ...devices,
    });
    const paths = agent.http.take().map(({ method, path }) => `${method} ${path.replace(device, "device")}`);
    expect(paths.filter((path) => path.includes("/resource_providers/"))).toEqual(
      ["inventories", "aggregates", "traits"].map((part) => `GET /resource_providers/device/${part}`),
    );
    await agent.tracker.instanceClaim(world.instance(), "n1", { [agent.nodeUuid]: { resources: { VCPU: 1 } } });
    expect(agent.http.requests).toEqual([]);
  });

  test("V20 an instance that is deleted while a resize to its own node is claimed uses nothing any more", async () => {
    const { world, agent } = await setUp();
    const vm = await world.placed(agent, { taskState: "resize_prep" });
    await agent.tracker.updateAvailableResource({ startup: false });
    const changes = {
      sourceCompute: "h1",
      sourceNode: "n1",
      destCompute: "h1",
      destNode: "n1",
      destComputeId: vm.computeId,
    };
    const bigger = world.flavor({ vcpus: 2 });
    const migration = world.store.migrations.create({
      instanceUuid: vm.uuid,
      migrationType: "resize",
      status: "pre-migrating",
      changes: { ...changes, oldInstanceTypeId: vm.flavor.id, newInstanceTypeId: bigger.id },
    });
    await agent.tracker.resizeClaim(vm, "n1", migration, bigger, {});
    expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(3);
    await agent.tracker.saveInstance(world.stored(vm.uuid), { vmState: "deleted", taskState: null });
    expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(0);
  });

  test("4.2 what a claim asks of Placement carries the operation's request id", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    agent.placement.clearProviderCache();
    await agent.tracker.instanceClaim(world.instance(), "n1", {}, "req-build");
    expect(new Set(agent.http.take().map(({ requestId }) => requestId))).toEqual(new Set(["req-build"]));
    agent.placement.clearProviderCache();
    await agent.tracker.rebuildClaim(instance, "n1", migration, {}, "req-evacuate");
    expect(new Set(agent.http.take().map(({ requestId }) => requestId))).toEqual(new Set(["req-evacuate"]));
  });

  test("4.2 node that the tracker does not know, or that the driver lost: ComputeResourcesUnavailable, nothing written", async () => {
    const { world, agent } = await setUp();
    const unknown = await claim(world, agent, "other");
    await expect(unknown.made()).rejects.toThrow(ComputeResourcesUnavailable);
    agent.hypervisor.nodes.clear();
    const lost = await claim(world, agent);
    await expect(lost.made()).rejects.toThrow("not available");
    expect(world.stored(lost.instance.uuid).host).toBeNull();
    checkUsage(world, agent);
  });

  test("4.2 discrete resources: as many as there are free items, then ComputeResourcesUnavailable; an abort frees them", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    hypervisor.editTree = (tree, node) => tree.updateResources(node, { CUSTOM_PMEM: ["a", "b"] });
    const agent = await world.startedAgent("h1", hypervisor);
    const take = (amount: number) =>
      agent.tracker.instanceClaim(world.instance(), "n1", {
        [agent.nodeUuid]: { resources: { CUSTOM_PMEM: amount } },
        "a provider of another tree": { resources: { CUSTOM_PMEM: 99 } },
      });
    const first = await take(2);
    await expect(take(1)).rejects.toThrow("0 of 2 CUSTOM_PMEM free, 1 are needed");
    await first.abort();
    await take(1);
    checkUsage(world, agent);
  });

  test("4.2 the update fails inside the claim: it raises, and what it wrote is taken back (V19)", async () => {
    const { world, agent } = await setUp();
    agent.hypervisor.fail = (method) => (method === "updateProviderTree" ? new TypeError("broken") : undefined);
    const { instance, made } = await claim(world, agent);
    await expect(made()).rejects.toThrow("broken");
    expect(world.stored(instance.uuid)).toMatchObject({ host: null, node: null, computeId: null });
    checkUsage(world, agent);
    expect(Object.keys(await world.held(instance.uuid)), "allocations are never touched").toEqual([agent.nodeUuid]);
  });

  test("4.2 abort: usage gone, host, node and compute id null, with what the caller adds; allocations stay", async () => {
    const { world, agent } = await setUp();
    const { instance, made } = await claim(world, agent);
    const after = await (await made()).abort({ instance: { vmState: "error", taskState: null } });
    expect(countChecks(world)).toBeGreaterThan(1);
    expect(after).toEqual(world.stored(instance.uuid));
    expect(after).toMatchObject({ host: null, node: null, computeId: null, vmState: "error", launchedOn: "h1" });
    expect(Object.keys(await world.held(instance.uuid))).toEqual([agent.nodeUuid]);
    checkPersistedUsage(world, agent);
  });

  test("4.2 abort with Placement gone: the conductor's part is done, the next pass does the rest", async () => {
    const { world, agent } = await setUp();
    const { instance, made } = await claim(world, agent);
    const claimed = await made();
    agent.http.fault = () => "refused";
    agent.placement.clearProviderCache();
    await claimed.abort();
    expect(world.stored(instance.uuid).host).toBeNull();
    checkUsage(world, agent);
    expect(world.logged("warn", "retrying in the next pass")).toBe(1);
    agent.http.fault = () => undefined;
    await agent.tracker.updateAvailableResource({ startup: false });
    checkPersistedUsage(world, agent);
  });

  test("4.2 abort of an instance that was destroyed meanwhile: only the usage goes", async () => {
    const { world, agent } = await setUp();
    const { instance, made } = await claim(world, agent);
    const claimed = await made();
    world.store.instances.destroy(instance.uuid);
    await claimed.abort();
    checkPersistedUsage(world, agent);
  });

  test("4.1 claims, aborts and passes at the same time are one after the other (V19, V20)", async () => {
    const { world, agent } = await setUp();
    const claims = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { made } = await claim(world, agent);
        return made();
      }),
    );
    await Promise.all([
      ...claims.slice(0, 4).map((one) => one.abort()),
      agent.tracker.updateAvailableResource({ startup: false }),
      agent.tracker.updateAvailableResourceForNode("n1"),
    ]);
    checkPersistedUsage(world, agent);
    expect(world.store.computeNodes.getByHostAndNode("h1", "n1")?.vcpusUsed).toBe(4);
  });

  test("4.1 a pass on many nodes sees a claim that was made while it ran", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    for (const name of ["n1", "n2", "n3"]) {
      hypervisor.nodes.set(name, { vcpus: 4, memoryMb: 8192, localGb: 40, uuid: world.runtime.random.uuid() });
    }
    const agent = await world.startedAgent("h1", hypervisor);
    const instance = world.instance();
    let claimed: Promise<unknown> | undefined;
    hypervisor.fail = (method, subject) => {
      if (method === "getAvailableResource" && subject === "n2") {
        claimed ??= agent.tracker.instanceClaim(instance, "n3", {});
      }
      return undefined;
    };
    await agent.tracker.updateAvailableResource({ startup: false });
    await claimed;
    checkPersistedUsage(world, agent);
    expect(world.store.computeNodes.getByHostAndNode("h1", "n3")?.runningVms).toBe(1);
  });
});

describe("4.2 rebuild_claim", () => {
  test("4.2 the migration gets the destination and pre-migrating, the instance its context; usage is counted", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    const claimed = await agent.tracker.rebuildClaim(instance, "n1", migration, {});
    const node = world.store.computeNodes.getByHostAndNode("h1", "n1");
    expect(world.store.migrations.get(migration.id)).toMatchObject({
      status: "pre-migrating",
      destCompute: "h1",
      destNode: "n1",
      destComputeId: node?.id,
      destHost: "127.0.0.1",
    });
    expect(world.stored(instance.uuid)).toMatchObject({ host: "h0", migrationContext: { migrationId: migration.id } });
    expect(claimed.migration?.status).toBe("pre-migrating");
    checkPersistedUsage(world, agent);
    expect(node?.vcpusUsed).toBe(1);
    await agent.tracker.updateAvailableResource({ startup: false });
    checkPersistedUsage(world, agent);
    expect(node?.vcpusUsed, "the pass counts the same").toBe(1);
  });

  test("4.5 GAP an evacuation of an instance in error is counted by the pass too; with the quirk it is not", async () => {
    for (const [quirks, expected, upstreamBreaks] of [
      [new Set<never>(), 1, []],
      [new Set(["ignore-evacuations-in-error" as const]), 0, ["V19"]],
    ] as const) {
      const world = await TrackerWorld.create(1, { upstreamBreaks });
      const config = { workarounds: { upstreamQuirks: quirks } };
      const agent = await world.startedAgent("h1", new StubHypervisor("n1"), { config });
      const { instance, migration } = await evacuation(world, agent, { vmState: "error" });
      await agent.tracker.rebuildClaim(instance, "n1", migration, {});
      await agent.tracker.updateAvailableResource({ startup: false });
      expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(expected);
    }
  });

  test("4.2 abort of a move claim: usage and context gone, status and state in the same write", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    const claimed = await agent.tracker.rebuildClaim(instance, "n1", migration, {});
    await claimed.abort({ migrationStatus: "failed", instance: { taskState: null } });
    expect(world.store.migrations.get(migration.id)?.status).toBe("failed");
    expect(world.stored(instance.uuid)).toMatchObject({ migrationContext: null, taskState: null, host: "h0" });
    checkPersistedUsage(world, agent);
    expect(Object.keys(await world.held(instance.uuid)), "allocations are never touched").toHaveLength(2);
  });

  test.each(["claims", "gives back its claim"])(
    "4.2 one that %s when the next evacuation has the instance",
    async (when) => {
      const { world, agent } = await setUp();
      const { instance, migration } = await evacuation(world, agent, { taskRequestId: "req-first" });
      const next = () =>
        world.store.instances.save(instance.uuid, { taskState: "rebuilding", taskRequestId: "req-next" });
      const claim = () => agent.tracker.rebuildClaim(instance, "n1", migration, {}, "req-first");
      if (when === "claims") {
        next();
        await expect(claim()).rejects.toMatchObject({ name: "UnexpectedTaskState" });
        expect(world.stored(instance.uuid).migrationContext).toBeNull();
        return;
      }
      const claimed = await claim();
      next();
      await claimed.abort({ migrationStatus: "failed", instance: { vmState: "error", taskState: null } });
      expect(world.stored(instance.uuid)).toMatchObject({ vmState: "active", taskState: "rebuilding" });
      expect(world.store.migrations.get(migration.id)?.status).toBe("failed");
    },
  );

  test("4.2 finish_evacuation: host here, context dropped, done; one write (V28); usage is the instance's", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    await agent.tracker.rebuildClaim(instance, "n1", migration, {});
    const finished = await agent.tracker.finishEvacuation(
      instance,
      "n1",
      migration,
      { vmState: "active" },
      {
        taskState: ["rebuilding"],
        ofRequest: "req-evacuate",
      },
    );
    expect(finished).toMatchObject({ host: "h1", node: "n1", migrationContext: null, vmState: "active" });
    expect(world.store.migrations.get(migration.id)?.status).toBe("done");
    checkPersistedUsage(world, agent);
  });

  test("4.2 finish_evacuation of an instance whose task changed: nothing is written", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    await agent.tracker.rebuildClaim(instance, "n1", migration, {});
    world.store.instances.save(instance.uuid, { taskState: "deleting" });
    const finish = agent.tracker.finishEvacuation(
      instance,
      "n1",
      migration,
      {},
      { taskState: ["rebuild_spawning"], ofRequest: "req-evacuate" },
    );
    await expect(finish).rejects.toMatchObject({ name: "UnexpectedDeletingTaskState" });
    expect(world.stored(instance.uuid).host).toBe("h0");
    expect(world.store.migrations.get(migration.id)?.status).toBe("pre-migrating");
  });

  test("4.2 finish_evacuation when a next evacuation is as far: nothing is written", async () => {
    const { world, agent } = await setUp();
    const { instance, migration } = await evacuation(world, agent);
    await agent.tracker.rebuildClaim(instance, "n1", migration, {});
    world.store.instances.save(instance.uuid, { taskState: "rebuild_spawning", taskRequestId: "req-next" });
    const finish = agent.tracker.finishEvacuation(
      instance,
      "n1",
      migration,
      {},
      { taskState: ["rebuild_spawning"], ofRequest: "req-first" },
    );
    await expect(finish).rejects.toMatchObject({ name: "UnexpectedTaskState" });
    expect(world.stored(instance.uuid).host).toBe("h0");
    expect(world.store.migrations.get(migration.id)?.status).toBe("pre-migrating");
  });
});

test("claims, rejections and aborts are counted by kind; other errors are not", async () => {
  const { world, agent } = await setUp();
  const { instance, migration } = await evacuation(world, agent);
  const { tracker } = agent;
  const counted: string[] = [];
  const claim: AgentMetrics["claim"] = (kind, outcome) => counted.push(`${kind} ${outcome}`);
  Object.assign(agent.context.metrics, { claim });
  const claimed = await tracker.instanceClaim(world.instance(), "n1", {});
  await claimed.abort();
  await expect(tracker.instanceClaim(world.instance(), "unknown", {})).rejects.toThrow(ComputeResourcesUnavailable);
  await tracker.rebuildClaim(instance, "n1", migration, {});
  await expect(tracker.rebuildClaim(instance, "n1", { ...migration, id: 99 }, {})).rejects.toThrow();
  expect(counted).toEqual(["instance succeeded", "instance aborted", "instance refused", "move succeeded"]);
});

describe("failed builds", () => {
  test("are counted and survive passes; a success starts again, and so does a restart; threshold 0 counts none", async () => {
    const { world, agent } = await setUp();
    agent.tracker.noteBuild("n1", "failed");
    agent.tracker.noteBuild("n1", "failed");
    await agent.tracker.updateAvailableResource({ startup: false });
    expect(agent.tracker.nodes().get("n1")?.stats.failed_builds).toBe("2");
    agent.tracker.noteBuild("n1", "succeeded");
    await agent.tracker.updateAvailableResource({ startup: false });
    expect(agent.tracker.nodes().get("n1")?.stats.failed_builds).toBe("0");
    agent.tracker.noteBuild("n1", "failed");
    await agent.tracker.updateAvailableResource({ startup: false });
    const again = await world.startedAgent("h1", agent.hypervisor);
    expect(again.tracker.nodes().get("n1")?.stats.failed_builds).toBe("0");
    const config = { compute: { consecutiveBuildServiceDisableThreshold: 0 } };
    const off = await world.startedAgent("h1", agent.hypervisor, { config });
    off.tracker.noteBuild("n1", "failed");
    await off.tracker.updateAvailableResource({ startup: false });
    expect(off.tracker.nodes().get("n1")?.stats.failed_builds).toBe("0");
  });
});
