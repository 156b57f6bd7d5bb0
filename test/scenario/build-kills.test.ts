import { describe, expect, test } from "vitest";
import { checkPersistedUsage } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { TrackerWorld } from "../fixtures/tracker-world.js";

async function setUp(seed = "build") {
  const world = await TrackerWorld.create(seed);
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
  const vm = world.instance();
  await world.claim(vm, agent.nodeUuid);
  const { userId, projectId } = vm;
  world.store.actions.start({ action: "create", instanceUuid: vm.uuid, requestId: "req-build", userId, projectId });
  return { world, agent, vm };
}

describe("6.1 the agent is killed before each step of a build", () => {
  test("6.1 crash rows: 2.6 and 2.7 find an instance that they know, and the user's delete leaves nothing", async () => {
    const { agent: baseline, world: first, vm: sample } = await setUp();
    await first.build(baseline, sample);
    const steps = baseline.steps.length;
    expect(steps).toBeGreaterThan(10);
    for (let step = 0; step < steps; step += 1) {
      const { world, agent, vm } = await setUp(`kill ${step}`);
      const dead = agent.dieBefore(step);
      void world.build(agent, vm);
      await dead;
      const after = world.stored(vm.uuid);
      const active = after.vmState === "active" && after.taskState === null;
      expect(active || after.vmState === "building", `killed before step ${step}: ${agent.steps.at(-1)}`).toBe(true);
      expect(Object.keys(await world.held(vm.uuid)), "it holds its claim, whoever owns it").toEqual([agent.nodeUuid]);
      const again = await world.startedAgent("h1", agent.hypervisor);
      // 2.6 if the instance has a host, else 2.7; both set it to error.
      if (!active) {
        world.store.instances.save(vm.uuid, { vmState: "error", taskState: null });
      }
      checkPersistedUsage(world, again);
      world.store.instances.save(vm.uuid, { taskState: "deleting" });
      await again.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-delete" });
      expect(again.hypervisor.guests.size).toBe(0);
      expect(await world.held(vm.uuid)).toEqual({});
      await again.tracker.updateAvailableResource({ startup: false });
      checkPersistedUsage(world, again);
    }
  });
});
