import { describe, expect, test } from "vitest";
import { checkAllocations, checkPersistedUsage } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { TrackerWorld } from "../fixtures/tracker-world.js";

describe("6.1 OPT what a failed build could not remove is removed later", () => {
  async function left() {
    const world = await TrackerWorld.create("left");
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const vm = world.instance();
    await world.claim(vm, agent.nodeUuid);
    agent.hypervisor.fail = (method) => (method === "spawn" || method === "destroy" ? new Error(method) : undefined);
    await expect(world.build(agent, vm, { retry: { numAttempts: 1, hosts: [["h1", "n1"]] } })).rejects.toThrow(
      "could not remove the leftovers of the failed build",
    );
    agent.hypervisor.guests.set(vm.uuid, 1);
    await agent.operations.removeLeftGuests();
    expect(world.stored(vm.uuid).host).toBe("h1");
    agent.hypervisor.fail = () => undefined;
    return { world, agent, vm };
  }

  test("the server is in error without a host then, and holds nothing", async () => {
    const { world, agent, vm } = await left();
    await agent.operations.removeLeftGuests();
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(world.stored(vm.uuid)).toMatchObject({ host: null, node: null, vmState: "error", taskState: null });
    expect(await world.held(vm.uuid)).toEqual({});
    checkPersistedUsage(world, agent);
  });

  test.each([
    ["reset", { vmState: "active" }],
    ["being deleted", { taskState: "deleting" }],
    ["rebuilt since", { launchedAt: 1 }],
  ] as const)("a server that is %s keeps its guest", async (_, changes) => {
    const { world, agent, vm } = await left();
    world.store.instances.save(vm.uuid, changes);
    await agent.operations.removeLeftGuests();
    expect(agent.hypervisor.guests.size).toBe(1);
    expect(world.stored(vm.uuid)).toMatchObject({ host: "h1", ...changes });
    await checkAllocations(world, [vm]);
  });
});
