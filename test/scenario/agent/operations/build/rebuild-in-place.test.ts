import { describe, expect, test } from "vitest";
import type { QuirkName } from "../../../../../src/config/quirks.js";
import type { NewInstance } from "../../../../../src/records/index.js";
import { StubHypervisor } from "../../../../fixtures/tracker-driver.js";
import { TrackerWorld } from "../../../../fixtures/tracker-world.js";

const IMAGE = "6a1b0e7e-0000-4000-8000-00000000000f";

async function setUp(changes: Partial<NewInstance> = {}, ...quirks: QuirkName[]) {
  const world = await TrackerWorld.create();
  const config = { workarounds: { upstreamQuirks: new Set(quirks) } };
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"), { config });
  const vm = await world.placed(agent, { taskState: "rebuilding", ...changes });
  await agent.tracker.updateAvailableResource({ startup: false });
  const request = { instanceUuid: vm.uuid, migrationId: null, onSharedStorage: null, recreate: false, node: "n1" };
  const rebuild = (targetStopped = false) =>
    agent.operations.run("rebuild_instance", { ...request, imageRef: IMAGE, targetStopped, requestId: "req-r" });
  return { world, agent, vm, rebuild, row: () => world.stored(vm.uuid), before: await world.held(vm.uuid) };
}

describe("6.6 rebuild in place", () => {
  test("6.6 guest anew from the new image, no claim, allocations bit-equal (V18)", async () => {
    const { world, agent, vm, rebuild, row, before } = await setUp();
    const node = agent.tracker.nodes().get("n1");
    await rebuild();
    expect(row()).toMatchObject({ vmState: "active", taskState: null, powerState: 1, imageRef: IMAGE, host: "h1" });
    expect(agent.hypervisor.calls.slice(-2)).toEqual([`destroy ${vm.uuid}`, `spawn ${vm.uuid}`]);
    expect(await world.held(vm.uuid)).toEqual(before);
    expect(agent.tracker.nodes().get("n1")).toEqual(node);
    expect(world.store.migrations.byFilters({ instanceUuid: vm.uuid })).toEqual([]);
  });

  test.each([
    [{ vmState: "stopped" as const }, false],
    [{}, true],
  ])("6.6 %o, targetStopped %s: ends stopped", async (changes, targetStopped) => {
    const { agent, vm, rebuild, row } = await setUp(changes);
    await rebuild(targetStopped);
    expect(row()).toMatchObject({ vmState: "stopped", powerState: 4 });
    expect(agent.hypervisor.guests.get(vm.uuid)).toBe(4);
  });

  test("6.6 fails: vm error, fault, allocations untouched", async () => {
    const { world, agent, vm, rebuild, row, before } = await setUp();
    agent.hypervisor.fail = (method) => (method === "spawn" ? new Error("qemu died") : undefined);
    await expect(rebuild()).rejects.toThrow("qemu died");
    expect(row()).toMatchObject({ vmState: "error", taskState: null, host: "h1" });
    expect(world.store.instances.fault(vm.uuid)?.message).toBe("Error");
    expect(await world.held(vm.uuid)).toEqual(before);
  });

  test("6.2 OPT a soft delete overtakes it when the guest is gone: in error, whatever becomes of the delete", async () => {
    const { world, agent, vm, rebuild, row } = await setUp();
    agent.hypervisor.fail = (method) => {
      if (method === "destroy") {
        world.store.instances.save(vm.uuid, { taskState: "soft-deleting", taskRequestId: "req-delete" });
      }
      return undefined;
    };
    await expect(rebuild()).rejects.toThrow("soft-deleting");
    expect(row()).toMatchObject({ vmState: "error", taskState: "soft-deleting", taskRequestId: "req-delete" });
  });

  test("6.6 GAP with quirk rebuild-strips-allocations: the host's tree is stripped when it fails", async () => {
    const { world, agent, vm, rebuild } = await setUp({}, "rebuild-strips-allocations");
    agent.hypervisor.fail = (method) => (method === "spawn" ? new Error("qemu died") : undefined);
    await expect(rebuild()).rejects.toThrow("qemu died");
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("an instance of another host is not touched (V1)", async () => {
    const { world, vm, row } = await setUp();
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    const request = { instanceUuid: vm.uuid, migrationId: null, onSharedStorage: null, recreate: false };
    await other.operations.run("rebuild_instance", {
      ...request,
      node: "n2",
      imageRef: IMAGE,
      targetStopped: false,
      requestId: "r",
    });
    expect(other.hypervisor.calls.some((call) => call.includes(vm.uuid))).toBe(false);
    expect(row().taskState).toBe("rebuilding");
  });
});
