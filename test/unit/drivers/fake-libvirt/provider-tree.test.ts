import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import {
  ComputeResourcesUnavailable,
  ProviderTree,
  type ReshapeAllocations,
  ReshapeFailed,
  ReshapeNeeded,
} from "../../../../src/virt/index.js";
import {
  INVENTORY_OPTIONS,
  instanceOf,
  migrationOf,
  NO_DEVICES,
  NODE_UUID,
  OTHER_UUID,
  UUID,
} from "../../virt/fixtures.js";
import { createVirtualHarness, DESTROY, type Harness, IMAGE, KEEP_DISKS, SPAWN } from "./fixtures.js";

const GPU = "devstack1_pci_0000_81_00_0";
const CARD = "devstack1_pci_0000_82_00_0";
const DEVICES = { devices: ["0000:81:00.0=VGPU:2", "0000:82:00.0=VGPU:2"] };

let harness: Harness;
let tree: ProviderTree;
const root = () => tree.data("devstack1");
function update(host: DriverHost, allocations?: ReshapeAllocations) {
  return host.updateProviderTree(tree, "devstack1", allocations ? { allocations } : {});
}

beforeEach(async () => {
  harness = await createVirtualHarness();
  tree = new ProviderTree();
  tree.newRoot("devstack1", NODE_UUID, 0);
});
afterEach(() => harness.close());

describe("8.7 duties of update_provider_tree", () => {
  test("8.7 duty 2 complete inventory of the node: totals, units, ratios, reserved", async () => {
    const host = await harness.connect({ vcpus: 8, memoryMb: 4096, diskGb: 100 });
    await update(host);
    const units = { minUnit: 1, stepSize: 1 };
    expect(root().inventory).toEqual({
      VCPU: { total: 8, maxUnit: 8, reserved: 0, allocationRatio: 4, ...units },
      MEMORY_MB: { total: 4096, maxUnit: 4096, reserved: 512, allocationRatio: 1, ...units },
      DISK_GB: { total: 100, maxUnit: 100, reserved: 0, allocationRatio: 1, ...units },
    });
  });

  test("8.7 duty 2 a class with total 0 is left out", async () => {
    await update(await harness.connect({ diskGb: 0 }));
    expect(root().inventory).not.toHaveProperty("DISK_GB");
  });

  test("8.7 duty 3 CPU traits of the model are added, those of another removed, external ones kept", async () => {
    tree.addTraits("devstack1", "CUSTOM_GOLD", "COMPUTE_NODE", "HW_CPU_X86_AVX512F");
    await update(await harness.connect({ cpuModel: "Nehalem" }));
    expect([...root().traits]).toEqual(expect.arrayContaining(["CUSTOM_GOLD", "COMPUTE_NODE", "HW_CPU_X86_SSE42"]));
    expect(root().traits.has("HW_CPU_X86_AVX512F")).toBe(false);
    await update(await harness.connect({ cpuModel: "generic" }));
    expect([...root().traits].sort()).toEqual(["COMPUTE_NODE", "CUSTOM_GOLD"]);
  });

  test("8.7 duty 6 idempotent: a second update changes nothing", async () => {
    const host = await harness.connect({ ...DEVICES, cpuDedicatedSet: "0-1" });
    await update(host);
    const before = tree.copy();
    await update(host);
    expect(tree.providerUuids()).toEqual(before.providerUuids());
    for (const uuid of tree.providerUuids()) {
      expect(tree.data(uuid)).toEqual(before.data(uuid));
    }
  });

  test("PCPU for the dedicated CPUs, VCPU for the rest", async () => {
    await update(await harness.connect({ vcpus: 8, cpuDedicatedSet: "4-7,^5" }));
    expect(root().inventory).toMatchObject({
      VCPU: { total: 5 },
      PCPU: { total: 3, reserved: 0, allocationRatio: 1 },
    });
  });

  test("DISK_GB comes from the sharing provider of a shared folder, and from the node without one", async () => {
    const host = await harness.connect({ sharedInstances: true });
    await update(host);
    expect(root().inventory).toHaveProperty("DISK_GB");
    tree.newRoot("nfs", OTHER_UUID, 0);
    tree.updateInventory("nfs", { DISK_GB: { total: 5000 } });
    tree.addTraits("nfs", "MISC_SHARES_VIA_AGGREGATE");
    tree.addAggregates("nfs", UUID);
    await update(host);
    expect(root().inventory).toHaveProperty("DISK_GB");
    tree.addAggregates("devstack1", UUID);
    await update(host);
    expect(root().inventory).not.toHaveProperty("DISK_GB");
    expect(tree.data("nfs").inventory).toEqual({ DISK_GB: { total: 5000 } });
  });

  test("8.7 duty 4 devices are child providers, identified by name", async () => {
    await update(await harness.connect(DEVICES));
    const { uuid } = tree.data(GPU);
    await update(await harness.connect(DEVICES));
    expect(tree.data(GPU)).toMatchObject({
      uuid,
      parentUuid: NODE_UUID,
      inventory: { VGPU: { total: 2, maxUnit: 2 } },
    });
    expect(tree.data(GPU).traits.has("OWNER_NOVA")).toBe(true);
  });

  test("8.7 duty 1 children of others stay; those of this driver are removed with their device", async () => {
    tree.newChild("devstack1_numa0", "devstack1", OTHER_UUID);
    await update(await harness.connect(DEVICES));
    await update(await harness.connect({ devices: DEVICES.devices.slice(0, 1) }));
    expect(tree.exists(CARD)).toBe(false);
    expect(tree.exists(GPU)).toBe(true);
    expect(tree.exists("devstack1_numa0")).toBe(true);
  });
});

describe("4.7 allocation ratios", () => {
  const options = (changes: Partial<typeof INVENTORY_OPTIONS>) => ({ inventory: { ...INVENTORY_OPTIONS, ...changes } });

  test("the configured one wins, then Placement's, then the initial one", async () => {
    await update(await harness.connect());
    expect(root().inventory.VCPU).toMatchObject({ allocationRatio: 4 });
    tree.updateInventory("devstack1", { VCPU: { total: 8, allocationRatio: 2.5 } });
    await update(await harness.connect());
    expect(root().inventory.VCPU).toMatchObject({ allocationRatio: 2.5 });
    await update(await harness.connect({}, options({ cpuAllocationRatio: 9 })));
    expect(root().inventory.VCPU).toMatchObject({ allocationRatio: 9 });
    await update(await harness.connect());
    expect(root().inventory.VCPU).toMatchObject({ allocationRatio: 9 });
  });

  test("0.0 is never written (bug 1789654)", async () => {
    tree.updateInventory("devstack1", { VCPU: { total: 8, allocationRatio: 0 } });
    await update(await harness.connect({}, options({ cpuAllocationRatio: 0 })));
    expect(root().inventory.VCPU).toMatchObject({ allocationRatio: 4 });
  });

  test("reserved disk is in GiB, rounded up", async () => {
    await update(await harness.connect({}, options({ reservedHostDiskMb: 1025, reservedHostCpus: 1 })));
    expect(root().inventory).toMatchObject({ DISK_GB: { reserved: 2 }, VCPU: { reserved: 1 } });
  });
});

describe("devices of guests", () => {
  const vm1 = instanceOf();
  const vm2 = instanceOf({ id: 43, uuid: OTHER_UUID });
  const wants = (provider: string, amount: number) => ({
    ...SPAWN,
    allocations: {
      [NODE_UUID]: { resources: { VCPU: 2 } },
      [tree.data(provider).uuid]: { resources: { VGPU: amount } },
    },
  });
  const xmlOf = (uuid: string) => harness.files.read(`${harness.folder}/hypervisors/devstack1/domains/${uuid}.xml`);

  test("are taken from the provider in the allocation, each of them once", async () => {
    const host = await harness.connect(DEVICES);
    await update(host);
    await Promise.all([host.spawn(vm1, wants(CARD, 1)), host.spawn(vm2, wants(CARD, 1))]);
    const parts = (await Promise.all([xmlOf(UUID), xmlOf(OTHER_UUID)])).map((xml) =>
      /address="([^"]*)".*part="(\d)"/.exec(xml)?.slice(1),
    );
    expect(parts.sort()).toEqual([
      ["0000:82:00.0", "0"],
      ["0000:82:00.0", "1"],
    ]);
  });

  test("if taken are ComputeResourcesUnavailable without leftovers, and free after a destroy", async () => {
    const host = await harness.connect(DEVICES);
    await update(host);
    await host.spawn(vm1, wants(GPU, 2));
    await expect(host.spawn(vm2, wants(GPU, 1))).rejects.toThrow(ComputeResourcesUnavailable);
    expect(await host.listInstanceUuids()).toEqual([UUID]);
    await host.destroy(vm1, DESTROY);
    await host.spawn(vm2, wants(GPU, 1));
  });

  test("8.3 move with the allocations; a revert without allocations keeps those of the definition", async () => {
    const host = await harness.connect(DEVICES);
    await update(host);
    const addresses = async () => [...(await xmlOf(UUID)).matchAll(/address="([^"]*)"/g)].map(([, address]) => address);
    const migrate = () => host.migrateDiskAndPowerOff(vm1, { ...NO_DEVICES, destIp: "127.0.0.1", flavor: vm1.flavor });
    const { allocations: two } = wants(CARD, 2);
    const { allocations: one } = wants(GPU, 1);
    await host.spawn(vm1, wants(GPU, 2));
    await migrate();
    await host.finishRevertMigration(vm1, { ...NO_DEVICES, migration: null, powerOn: true });
    expect(await addresses()).toEqual(["0000:81:00.0", "0000:81:00.0"]);
    const finish = { ...NO_DEVICES, image: IMAGE, resizeInstance: false, powerOn: true };
    await host.finishMigration(migrationOf(), vm1, await migrate(), { ...finish, allocations: two });
    expect(await addresses()).toEqual(["0000:82:00.0", "0000:82:00.0"]);
    await host.destroy(vm1, KEEP_DISKS);
    await host.finishRevertMigration(vm1, { ...NO_DEVICES, migration: null, powerOn: true, allocations: one });
    expect(await addresses()).toEqual(["0000:81:00.0"]);
  });

  describe("reshape from flat to nested", () => {
    const FLAT = { ...DEVICES, nestedDevices: false };
    const vcpu = { VCPU: 2, MEMORY_MB: 64 };

    test("8.7 duty 5 is requested before any edit, moves inventory and allocations, keeps the sums", async () => {
      const flat = await harness.connect(FLAT);
      await update(flat);
      expect(root().inventory.VGPU).toMatchObject({ total: 4 });
      await flat.spawn(vm1, wants("devstack1", 2));
      await flat.spawn(vm2, wants("devstack1", 1));
      const nested = await harness.connect(DEVICES);
      const before = tree.copy();
      await expect(update(nested)).rejects.toThrow(ReshapeNeeded);
      expect(root()).toEqual(before.data("devstack1"));
      const elsewhere = new Map([["99999999-0000-4000-8000-000000000000", { VGPU: 1 }]]);
      const allocations: ReshapeAllocations = new Map([
        [OTHER_UUID, new Map([[NODE_UUID, { ...vcpu, VGPU: 1 }]])],
        [UUID, new Map([[NODE_UUID, { ...vcpu, VGPU: 2 }]])],
        ["77777777-7777-4777-8777-777777777777", new Map([[NODE_UUID, { VGPU: 1 }]])],
        ["88888888-8888-4888-8888-888888888888", new Map(elsewhere)],
      ]);
      await update(nested, allocations);
      expect(root().inventory).not.toHaveProperty("VGPU");
      const [gpu, card] = [tree.data(GPU).uuid, tree.data(CARD).uuid];
      expect(
        Object.fromEntries([...allocations].map(([consumer, held]) => [consumer, Object.fromEntries(held)])),
      ).toEqual({
        [UUID]: { [NODE_UUID]: vcpu, [gpu]: { VGPU: 2 } },
        [OTHER_UUID]: { [NODE_UUID]: vcpu, [card]: { VGPU: 1 } },
        "77777777-7777-4777-8777-777777777777": { [card]: { VGPU: 1 } },
        "88888888-8888-4888-8888-888888888888": Object.fromEntries(elsewhere),
      });
      await update(nested);
    });

    test("fails if the configured devices have too little capacity", async () => {
      await update(await harness.connect(FLAT));
      const nested = await harness.connect({ devices: ["0000:81:00.0=VGPU:1"] });
      const allocations: ReshapeAllocations = new Map([[UUID, new Map([[NODE_UUID, { VGPU: 2 }]])]]);
      await expect(update(nested, allocations)).rejects.toThrow(ReshapeFailed);
    });

    test("leaves nested providers nested after it is turned off", async () => {
      await update(await harness.connect(DEVICES));
      await update(await harness.connect(FLAT));
      expect(root().inventory).not.toHaveProperty("VGPU");
      expect(tree.exists(GPU)).toBe(true);
    });
  });
});
