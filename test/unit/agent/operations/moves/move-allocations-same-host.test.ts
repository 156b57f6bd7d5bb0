import { describe, expect, test } from "vitest";
import { finishSource, revertToSource } from "../../../../../src/agent/operations/flow/move-allocations.js";
import { inventoryOf } from "../../../placement-client/bench.js";
import { D, I, NAMES, S, twoHosts } from "../../../placement-client/two-hosts.js";
import {
  type Case,
  CONTEXT,
  endedMove,
  type Held,
  hold as holdOn,
  NEW,
  NEW_AMOUNTS,
  OLD,
  OLD_AMOUNTS,
  SUM,
} from "../../support/ended-move.js";

const hosts = twoHosts();
const setUp = (options?: Case) => endedMove(hosts, options);
const hold = (consumer: string, held: Held) => holdOn(hosts, consumer, held);
const writes = () => hosts.bench.requests(NAMES).filter((request) => !request.startsWith("GET "));
const ids = () => new Set(hosts.bench.sent.map(({ headers }) => headers["x-openstack-request-id"]));

/** Adds devices to the node's own provider. */
async function addDevices(): Promise<void> {
  const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
  tree.updateInventory(S, {
    VCPU: inventoryOf(8),
    MEMORY_MB: inventoryOf(4096),
    DISK_GB: inventoryOf(9),
    VGPU: inventoryOf(2),
  });
  await hosts.client.updateFromProviderTree(tree);
}

describe("on the same host the two are one record", () => {
  const HERE = { destCompute: "devstack1", destNode: "devstack1" };

  test.each([
    ["confirmed: the old flavor's amounts go", finishSource, NEW_AMOUNTS],
    ["reverted: the new flavor's amounts go", revertToSource, OLD_AMOUNTS],
  ] as const)("6.0 %s", async (_, settle, left) => {
    await hold(I, { [S]: SUM });
    const { services, move } = setUp({ migration: HERE });
    await settle(services, move, CONTEXT);
    expect(ids()).toEqual(new Set(["req-move"]));
    expect(await hosts.held(I)).toEqual({ [S]: left });
  });

  test.each<[string, Held]>([
    ["the old flavor's amounts only", { [S]: OLD_AMOUNTS }],
    ["more of one class", { [S]: { ...SUM, VCPU: 4 } }],
    ["a class less", { [S]: { VCPU: 3, MEMORY_MB: 1536 } }],
  ])("what is no sum of both is left: %s", async (_, held) => {
    await hold(I, held);
    const { services, move } = setUp({ migration: HERE });
    await finishSource(services, move, CONTEXT);
    await revertToSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual(held);
  });

  test.each([
    ["confirmed", finishSource, NEW_AMOUNTS],
    ["reverted", revertToSource, OLD_AMOUNTS],
  ] as const)("6.0 OPT %s, what an evacuated instance still holds elsewhere stays", async (_, settle, left) => {
    await hold(I, { [S]: SUM, [D]: OLD_AMOUNTS });
    const { services, move } = setUp({ migration: HERE });
    await settle(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [S]: left, [D]: OLD_AMOUNTS });
  });

  test("a class that neither flavor has makes it somebody else's record", async () => {
    await addDevices();
    const held = { [S]: { ...SUM, VGPU: 1 } };
    await hold(I, held);
    const { services, move } = setUp({ migration: HERE });
    await finishSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual(held);
  });

  test("a migration of the same flavor halves it", async () => {
    await hold(I, { [S]: { VCPU: 2, MEMORY_MB: 1024, DISK_GB: 2 } });
    const { services, move } = setUp({ migration: { ...HERE, migrationType: "migration" } });
    await revertToSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
  });

  describe("a destination that died before it noted the new flavor", () => {
    const unknown = (held: Held) =>
      hold(I, held).then(() => setUp({ migration: HERE, instance: { newFlavor: null, oldFlavor: null } }));

    test("what is held beyond the need goes", async () => {
      const { services, move } = await unknown({ [S]: { VCPU: 3, MEMORY_MB: 512, DISK_GB: 2 } });
      await revertToSource(services, move, CONTEXT);
      expect(ids()).toEqual(new Set(["req-move"]));
      expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
    });

    test("6.0 OPT also where an evacuated instance still holds something elsewhere", async () => {
      const { services, move } = await unknown({ [S]: SUM, [D]: OLD_AMOUNTS });
      await revertToSource(services, move, CONTEXT);
      expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS });
    });

    test("a class that is not needed at all goes, down to the last unit", async () => {
      await addDevices();
      const { services, move } = await unknown({ [S]: { ...OLD_AMOUNTS, VGPU: 1 } });
      await revertToSource(services, move, CONTEXT);
      expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
    });

    test.each<[string, Held]>([
      ["exactly the need", { [S]: OLD_AMOUNTS }],
      ["less than the need", { [S]: { VCPU: 3, MEMORY_MB: 511, DISK_GB: 2 } }],
      ["a class of the need not at all", { [S]: { VCPU: 3, MEMORY_MB: 512 } }],
    ])("one that holds %s keeps it", async (_, held) => {
      const { services, move } = await unknown(held);
      await revertToSource(services, move, CONTEXT);
      expect(writes()).toEqual([]);
    });

    test("the source, which confirms, knows what goes by the records alone", async () => {
      const { services, move } = await unknown({ [S]: { VCPU: 3, MEMORY_MB: 512, DISK_GB: 2 } });
      await finishSource(services, move, CONTEXT);
      expect(await hosts.held(I)).toEqual({ [S]: { VCPU: 3, MEMORY_MB: 512, DISK_GB: 2 } });
    });

    test("one whose instance has the new flavor already knew it", async () => {
      await hold(I, { [S]: SUM });
      const finished = { newFlavor: null, oldFlavor: OLD, flavor: NEW, instanceTypeId: NEW.id };
      const { services, move } = setUp({ migration: HERE, instance: finished });
      await revertToSource(services, move, CONTEXT);
      expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
    });
  });
});
