import { describe, expect, test } from "vitest";
import type { AssignedResource } from "../../src/records/index.js";
import { checkPersistedUsage } from "../fixtures/invariants-tracker.js";
import { FAKE_NODE, StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";

const pass = (agent: TestAgent, startup = false) => agent.tracker.updateAvailableResource({ startup });

function contextOf(instanceUuid: string, migrationId: number, newResources: readonly AssignedResource[] = []) {
  return {
    instanceUuid,
    migrationId,
    oldNumaTopology: null,
    newNumaTopology: null,
    oldPciDevices: [],
    newPciDevices: [],
    oldResources: [],
    newResources,
  };
}

/** Creates an evacuation of a guest of `h0` to the agent. */
function arriving(world: TrackerWorld, agent: TestAgent) {
  const instance = world.instance({ vmState: "active", taskState: "rebuilding" });
  const [row] = world.store.computeNodes.byHost(agent.host);
  const migration = world.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType: "evacuation",
    status: "pre-migrating",
    changes: {
      sourceCompute: "h0",
      sourceNode: "n0",
      destCompute: agent.host,
      destNode: row?.hypervisorHostname ?? null,
      destComputeId: row?.id ?? null,
    },
  });
  return { instance, migration };
}

describe("4.4 the steps of one node's pass", () => {
  test("4.4 step 1 what the driver leaves out is named; the node is skipped, the row stays as it was", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    const before = world.store.computeNodes.byHost("h1");
    hypervisor.nodes.set("n1", { vcpus: 1, memoryMb: 1 } as typeof FAKE_NODE);
    await pass(agent);
    expect(world.store.computeNodes.byHost("h1")).toEqual(before);
    const [failed] = world.runtime.logs.filter(({ message }) => message.includes("could not be updated"));
    expect(String(failed?.fields.err)).toMatch(/getAvailableResource.*localGb/s);
  });

  test("4.4 step 1 the driver is asked outside of the lock, and the uuid is its own or the host's", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    expect(agent.tracker.nodes().get("n1")?.uuid).toBe(agent.nodeUuid);
    const vm = await world.placed(agent);
    let reached = false;
    hypervisor.fail = async (method) => {
      if (method === "getAvailableResource") {
        // It takes the tracker's lock, so inside of it the test would wait forever.
        await agent.tracker.updateUsage(vm, "n1");
        reached = true;
      }
      return undefined;
    };
    await pass(agent);
    expect(reached).toBe(true);
  });

  test("4.4 step 3 a node that the driver does not list: its row is known, and nothing else is done", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    await world.placed(agent);
    const listed = hypervisor.nodes.get("n1");
    hypervisor.fail = (method) => {
      if (method === "getAvailableNodes" && listed) {
        listed.deleted = true;
      }
      return undefined;
    };
    agent.http.take();
    await agent.tracker.updateAvailableResourceForNode("n1");
    expect(agent.http.take()).toEqual([]);
    expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(0);
  });

  test("4.4 step 4 instances and migrations of this host and node only, deleted and ended ones left out", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    for (const name of ["a", "b"]) {
      hypervisor.nodes.set(name, { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    }
    const agent = await world.startedAgent("h1", hypervisor);
    const [a, b] = world.store.computeNodes.byHost("h1");
    const here = { node: a?.hypervisorHostname ?? null, computeId: a?.id ?? null };
    await world.placed(agent, here);
    const gone = await world.placed(agent, here);
    world.store.instances.destroy(gone.uuid);
    await world.placed(agent, { node: b?.hypervisorHostname ?? null, computeId: b?.id ?? null, vmState: "stopped" });
    const { migration } = arriving(world, agent);
    world.store.migrations.save(migration.id, { status: "failed" });
    await pass(agent);
    expect([...agent.tracker.nodes().values()].map(({ runningVms, vcpusUsed }) => [runningVms, vcpusUsed])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    checkPersistedUsage(world, agent);
  });

  test("4.4 steps 5, 8 what an arriving instance brings is counted once, and nothing of it is saved", async () => {
    // Upstream writes the host first, and then the status: a pass may come in between.
    const world = await TrackerWorld.create(1, { upstreamBreaks: ["V28"] });
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const { instance, migration } = arriving(world, agent);
    world.store.instances.save(instance.uuid, { migrationContext: contextOf(instance.uuid, migration.id) });
    const before = world.stored(instance.uuid);
    await pass(agent);
    expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(1);
    expect(world.stored(instance.uuid)).toEqual(before);
    const [row] = world.store.computeNodes.byHost("h1");
    world.store.instances.save(instance.uuid, { host: "h1", node: "n1", computeId: row?.id ?? null });
    await pass(agent);
    expect(agent.tracker.nodes().get("n1")?.vcpusUsed).toBe(1);
    checkPersistedUsage(world, agent);
  });

  test("4.4 step 9 a new row has no provider to clean up; the next pass looks at its consumers", async () => {
    const world = await TrackerWorld.create();
    const config = { compute: { leanTracking: false } };
    const agent = await world.agent("h1", new StubHypervisor("n1"), { config });
    const listed = () =>
      agent.http.take().filter(({ path }) => path === `/resource_providers/${agent.nodeUuid}/allocations`).length;
    // Once by the request that every update sends without lean_tracking.
    await pass(agent, true);
    expect(listed()).toBe(1);
    await pass(agent);
    expect(listed()).toBe(2);
  });

  const withPool = async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    hypervisor.editTree = (tree, node) => tree.updateResources(node, { CUSTOM_NVME: ["nvme0", "nvme1"] });
    const agent = await world.startedAgent("h1", hypervisor);
    const { instance, migration } = arriving(world, agent);
    const taken = { providerUuid: agent.nodeUuid, resourceClass: "CUSTOM_NVME", identifier: "nvme0" };
    return { world, hypervisor, agent, instance, migration, taken };
  };

  test("4.4 step 10 items of a migration on its way are taken again; without its context there is nothing yet (bug 1849165)", async () => {
    const { world, agent, instance, migration, taken } = await withPool();
    await pass(agent);
    world.store.instances.save(instance.uuid, { migrationContext: contextOf(instance.uuid, migration.id, [taken]) });
    await pass(agent);
    const allocations = { [agent.nodeUuid]: { resources: { CUSTOM_NVME: 1 } } };
    await agent.tracker.instanceClaim(world.instance(), "n1", allocations);
    await expect(agent.tracker.instanceClaim(world.instance(), "n1", allocations)).rejects.toMatchObject({
      name: "ComputeResourcesUnavailable",
    });
  });

  test("4.4 step 12 an assigned item that is not in the tree any more is logged at start-up, and the start goes on", async () => {
    const { world, hypervisor, instance, migration, taken } = await withPool();
    world.store.instances.save(instance.uuid, {
      migrationContext: contextOf(instance.uuid, migration.id, [{ ...taken, identifier: "nvme7" }]),
    });
    const again = await world.agent("h1", hypervisor);
    await pass(again, true);
    const [logged] = world.runtime.logs.filter(({ message }) => message.includes("assigned resources are not on node"));
    expect(logged).toMatchObject({ level: "error", fields: { err: { name: "AssignedResourceNotFound" } } });
    expect(again.tracker.nodes().size).toBe(1);
  });
});
