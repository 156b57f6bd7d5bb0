import { describe, expect, test } from "vitest";
import { checkUntouched } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { CONFLICT } from "../fixtures/tracker-http.js";
import { type AgentOptions, type TestAgent, TrackerWorld, USER } from "../fixtures/tracker-world.js";

async function setUp(options: AgentOptions = {}) {
  const world = await TrackerWorld.create();
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"), options);
  return { world, agent };
}
const pass = (agent: TestAgent) => agent.tracker.updateAvailableResource({ startup: false });
const writes = (agent: TestAgent) => agent.http.take().filter(({ method }) => method !== "GET");

describe("4.6 _remove_deleted_instances_allocations, through Placement", () => {
  test("4.6 rows 1, 2, 3, 5, 6, 8: nothing is written (V21)", async () => {
    const { world, agent } = await setUp();
    const tracked = await world.placed(agent);
    const unplaced = world.instance({ vmState: "error", taskState: null });
    await world.claim(unplaced, agent.nodeUuid);
    const migrating = world.instance({ host: null });
    const migration = world.store.migrations.create({
      instanceUuid: migrating.uuid,
      migrationType: "migration",
      status: "error",
      changes: { sourceCompute: "h1", sourceNode: "n1" },
    });
    await world.claim({ ...migrating, uuid: migration.uuid }, agent.nodeUuid);
    await world.claim({ ...migrating, uuid: USER }, agent.nodeUuid);
    for (let index = 0; index < 3; index += 1) {
      await pass(agent);
    }
    checkUntouched(agent, [tracked.uuid, unplaced.uuid, migration.uuid, USER]);
    expect(writes(agent)).toEqual([]);
    expect(world.logged("info", "no known instance"), "row 3, each pass").toBe(3);
  });

  test("4.6 row 4 instance deleted: its whole consumer goes, guarded by its generation", async () => {
    const { world, agent } = await setUp();
    const vm = await world.placed(agent);
    world.store.instances.destroy(vm.uuid);
    await pass(agent);
    expect(await world.held(vm.uuid)).toEqual({});
    expect(writes(agent)).toMatchObject([
      {
        method: "PUT",
        path: `/allocations/${vm.uuid}`,
        version: "1.28",
        body: { allocations: {}, consumer_generation: 1 },
      },
    ]);
    // The agent's own write changed the provider's generation, so the provider is read once more.
    await pass(agent);
    agent.http.take();
    await pass(agent);
    expect(
      agent.http.take().map(({ path }) => path.replace(/=.*/, "")),
      "it is forgotten",
    ).toEqual(["/resource_providers?in_tree"]);
  });

  test("4.6 row 4 an instance deleted while its generation stands still is found on the remembered consumers", async () => {
    const { world, agent } = await setUp();
    const vm = await world.placed(agent);
    await pass(agent);
    agent.http.take();
    world.store.instances.destroy(vm.uuid);
    await pass(agent);
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("4.6 row 4 a conflict ends this node's pass, and the next one tries again", async () => {
    const { world, agent } = await setUp();
    const vm = await world.placed(agent);
    world.store.instances.destroy(vm.uuid);
    agent.http.fault = ({ method, path }) =>
      method === "PUT" && path.startsWith("/allocations/") ? CONFLICT : undefined;
    await pass(agent);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
    expect(Object.keys(await world.held(vm.uuid))).toEqual([agent.nodeUuid]);
    agent.http.fault = () => undefined;
    await pass(agent);
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("4.6 all that one pass asks of Placement, its clean-up too, carries that pass's request id", async () => {
    const { world, agent } = await setUp({ config: { compute: { healMovedAllocations: true } } });
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    const ids: (readonly (string | null)[])[] = [];
    for (let round = 0; round < 2; round += 1) {
      const gone = await world.placed(agent);
      world.store.instances.destroy(gone.uuid);
      const moved = await world.placed(other);
      await world.claim(moved, agent.nodeUuid);
      agent.placement.clearProviderCache();
      agent.http.take();
      await pass(agent);
      expect([await world.held(gone.uuid), Object.keys(await world.held(moved.uuid))]).toEqual([{}, [other.nodeUuid]]);
      const requests = agent.http.take();
      expect(requests.length).toBeGreaterThan(7);
      ids.push([...new Set(requests.map(({ requestId }) => requestId))]);
    }
    expect(ids).toEqual([[expect.stringMatching(/^req-/)], [expect.stringMatching(/^req-/)]]);
    expect(ids[0]).not.toEqual(ids[1]);
  });

  test("4.6 the listing fails: logged, all are skipped, the pass goes on", async () => {
    const { world, agent } = await setUp();
    const vm = await world.placed(agent);
    world.store.instances.destroy(vm.uuid);
    const gone = await world.placed(agent);
    agent.http.fault = ({ path }) => (path.endsWith("/allocations") ? { status: 500 } : undefined);
    await pass(agent);
    expect(world.logged("error", "none is cleaned up in this pass")).toBe(1);
    expect(Object.keys(await world.held(vm.uuid))).toEqual([agent.nodeUuid]);
    expect(world.store.computeNodes.getByHostAndNode("h1", "n1")?.runningVms).toBe(1);
    expect(world.stored(gone.uuid).host).toBe("h1");
  });

  test("4.6 row 7 host elsewhere: a warning and nothing else, even with an ended migration", async () => {
    const { world, agent } = await setUp();
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    const vm = await world.placed(other);
    await world.claim(vm, agent.nodeUuid);
    await pass(agent);
    const warnings = world.runtime.logs.filter(({ message }) => message.includes("still has allocations here"));
    expect(warnings).toMatchObject([{ level: "warn", fields: { instance: vm.uuid, row: 7 } }]);
    expect(Object.keys(await world.held(vm.uuid))).toHaveLength(2);
  });

  describe("4.6 row 7 with heal_moved_allocations", () => {
    const moved = async (
      status?: "done" | "accepted" | "error" | "finished",
      taskState: "rebuilding" | null = null,
    ) => {
      const { world, agent } = await setUp({ config: { compute: { healMovedAllocations: true } } });
      const other = await world.startedAgent("h2", new StubHypervisor("n2"));
      const vm = await world.placed(other, { taskState });
      await world.claim(vm, agent.nodeUuid);
      const changes = { sourceCompute: "h3", sourceNode: "n3" };
      if (status) {
        world.store.migrations.create({ instanceUuid: vm.uuid, migrationType: "evacuation", status, changes });
      }
      const before = await world.held(vm.uuid);
      await pass(agent);
      return { before, after: await world.held(vm.uuid), here: agent.nodeUuid, there: other.nodeUuid };
    };

    test.each([undefined, "done"] as const)(
      "at rest, migration %s: this tree is stripped, the other is bit-equal (V15)",
      async (status) => {
        const { before, after, there } = await moved(status);
        expect(after).toEqual({ [there]: before[there] });
      },
    );

    test.each(["accepted", "error", "finished"] as const)("migration %s: kept", async (status) => {
      const { before, after } = await moved(status);
      expect(after).toEqual(before);
    });

    test("with a task: kept", async () => {
      const { before, after } = await moved(undefined, "rebuilding");
      expect(after).toEqual(before);
    });
  });
});
