import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { readNode } from "../../../../drivers/ironic/client/ironic-node.js";
import { resourceClassOf } from "../../../../drivers/ironic/node-resources.js";
import { ProviderTree } from "../../../../src/virt/index.js";
import { INSTANCE, ironicDriver, type World } from "./support/driver.js";
import { FakeIronic, type FakeNode } from "./support/fake-ironic.js";

async function golden(name: string): Promise<Partial<FakeNode>> {
  return JSON.parse(await readFile(new URL(`../../../fixtures/golden/ironic/${name}.json`, import.meta.url), "utf8"));
}

/** Returns the node's provider as the driver reports it. `before` prepares the provider. */
async function reported(node: Partial<FakeNode>, world: World = {}, before: (tree: ProviderTree) => void = () => {}) {
  const ironic = new FakeIronic();
  const { uuid } = ironic.add(node);
  const { driver, records, runtime } = await ironicDriver({ ...world, ironic });
  if (node.instance_uuid) {
    records.instances = [node.instance_uuid];
  }
  expect(await driver.getAvailableNodes({ refresh: true })).toEqual([uuid]);
  const resource = await driver.getAvailableResource(uuid);
  const tree = new ProviderTree();
  tree.newRoot(uuid, uuid, 0);
  before(tree);
  await driver.updateProviderTree(tree, uuid);
  return { resource, tree, provider: tree.data(uuid), logs: runtime.logs };
}

async function reservedOf(node: Partial<FakeNode>, world: World = {}) {
  return Object.values((await reported(node, world)).provider.inventory).map(
    ({ reserved, total }) => `${reserved} of ${total}`,
  );
}

describe("8.9 state to inventory", () => {
  test.each([
    ["active", 1],
    ["active-maintenance", 1],
    ["active-power-on", 1],
    ["active-rebooting", 1],
    ["available", 0],
    ["available-again", 0],
    ["available-instance-set", 1],
    ["available-maintenance", 1],
    ["available-power-unknown", 1],
    ["cleaning", 1],
    ["cleaning-automated", 1],
    ["deleting", 1],
    ["deploying", 1],
    ["enroll", 1],
    ["manageable", 1],
    ["power-changing", 1],
  ])("the recorded node %s has %i of 1 reserved", async (name, reserved) => {
    const { provider } = await reported(await golden(name));
    expect(provider.inventory).toEqual({
      CUSTOM_BAREMETAL: { total: 1, reserved, minUnit: 1, maxUnit: 1, stepSize: 1, allocationRatio: 1 },
    });
    expect([...provider.traits].sort()).toEqual(["CUSTOM_BM", "HW_CPU_X86_VMX"]);
  });

  const free = [
    "enroll",
    "verifying",
    "manageable",
    "inspecting",
    "inspect wait",
    "inspect failed",
    "adopting",
    "adopt failed",
    "cleaning",
    "clean wait",
    "clean hold",
    "clean failed",
    "a state of tomorrow",
  ];
  test.each(free)("%s without an instance is reserved", async (provision_state) => {
    expect(await reservedOf({ provision_state })).toEqual(["1 of 1"]);
  });

  const used = [
    "available",
    "deploying",
    "wait call-back",
    "deploy hold",
    "deploy failed",
    "active",
    "rebuild",
    "rescue",
    "rescuing",
    "unrescuing",
    "servicing",
    "error",
    "deleting",
  ];
  test.each(used)("%s with an instance is reserved, unless [workarounds] says otherwise", async (provision_state) => {
    const node = { provision_state, instance_uuid: INSTANCE };
    expect(await reservedOf(node)).toEqual(["1 of 1"]);
    expect(await reservedOf(node, { skipReserveInUseIronicNodes: true })).toEqual(["0 of 1"]);
  });

  test.each([
    [{ power_state: "power on" }, 0],
    [{ power_state: "power off" }, 0],
    [{ provision_state: null }, 0],
    [{ power_state: null }, 1],
    [{ power_state: "error" }, 1],
    [{ maintenance: true }, 1],
  ] as const)("available with %j: %i reserved", async (changes, reserved) => {
    expect(await reservedOf(changes)).toEqual([`${reserved} of 1`]);
  });
});

test("8.9 a node without a resource class fails, and the others are reported", async () => {
  const ironic = new FakeIronic();
  const bad = ironic.add({ resource_class: null });
  const good = ironic.add();
  const { driver } = await ironicDriver({ ironic });
  expect(await driver.getAvailableNodes({ refresh: true })).toEqual([bad.uuid, good.uuid]);
  const tree = new ProviderTree();
  for (const { uuid } of [bad, good]) {
    tree.newRoot(uuid, uuid, 0);
  }
  await expect(driver.updateProviderTree(tree, bad.uuid)).rejects.toMatchObject({ name: "NoResourceClass" });
  await driver.updateProviderTree(tree, good.uuid);
  expect(Object.keys(tree.data(good.uuid).inventory)).toEqual(["CUSTOM_BAREMETAL"]);
});

test("resource classes are spelled as Nova spells them", () => {
  expect(["Gold.metal v2", "bm", "a--b", "straße", "x_y"].map(resourceClassOf)).toEqual([
    "CUSTOM_GOLD_METAL_V2",
    "CUSTOM_BM",
    "CUSTOM_A_B",
    "CUSTOM_STRA_E",
    "CUSTOM_X_Y",
  ]);
});

test("the node's traits replace those of the provider", async () => {
  const { provider } = await reported({ traits: ["CUSTOM_A"] }, {}, (tree) => {
    tree.updateTraits(tree.roots[0] ?? "", ["CUSTOM_FOREIGN", "CUSTOM_A", "COMPUTE_NODE"]);
  });
  expect([...provider.traits]).toEqual(["CUSTOM_A"]);
});

describe("a resource class that was changed", () => {
  const withOld = (tree: ProviderTree) => {
    const old = { total: 1, reserved: 1, minUnit: 1, maxUnit: 1, stepSize: 1, allocationRatio: 1 };
    tree.updateInventory(tree.roots[0] ?? "", { CUSTOM_OLD: old });
  };

  test("stays on the provider while an instance has the node", async () => {
    const node = { resource_class: "new", instance_uuid: INSTANCE, provision_state: "active" };
    const { provider, logs } = await reported(node, {}, withOld);
    expect(Object.keys(provider.inventory)).toEqual(["CUSTOM_OLD"]);
    expect(logs.some(({ level, message }) => level === "warn" && message.includes("resource class"))).toBe(true);
  });

  test("is replaced when the node is free", async () => {
    const { provider } = await reported({ resource_class: "new" }, {}, withOld);
    expect(Object.keys(provider.inventory)).toEqual(["CUSTOM_NEW"]);
  });
});

test("8.9 a node's row: its own uuid, no sizes, its architecture and capabilities", async () => {
  const capabilities = "boot_mode:uefi, raid:10,,broken,also:very:broken";
  const { resource, logs } = await reported({ properties: { cpu_arch: "amd64", capabilities, cpus: 48 } });
  expect(resource).toEqual({
    uuid: "00000000-0000-4000-8000-000000000000",
    hypervisorHostname: "00000000-0000-4000-8000-000000000000",
    hypervisorType: "ironic",
    hypervisorVersion: 1,
    vcpus: 0,
    memoryMb: 0,
    localGb: 0,
    vcpusUsed: 0,
    memoryMbUsed: 0,
    localGbUsed: 0,
    diskAvailableLeast: 0,
    cpuInfo: null,
    numaTopology: null,
    supportedInstances: [["x86_64", "baremetal", "hvm"]],
    stats: { cpu_arch: "amd64", boot_mode: "uefi", raid: "10" },
  });
  expect(logs.filter(({ level }) => level === "warn")).toHaveLength(2);
});

test.each([
  ["i586", [["i686", "baremetal", "hvm"]]],
  ["AArch64", [["aarch64", "baremetal", "hvm"]]],
  ["abacus", []],
  [undefined, []],
])("architecture %s", async (cpu_arch, supported) => {
  const { resource } = await reported({ properties: cpu_arch === undefined ? {} : { cpu_arch } });
  expect(resource.supportedInstances).toEqual(supported);
});

test("only the fields that the driver uses are retained of a node", async () => {
  const retained = JSON.stringify(readNode(await golden("active"), "test"));
  expect(retained.length).toBeLessThan(500);
  expect(retained).not.toContain("links");
});
