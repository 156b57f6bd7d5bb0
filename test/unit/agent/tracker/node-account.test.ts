import { describe, expect, test } from "vitest";
import { NodeAccount, TrackedNode } from "../../../../src/agent/tracker/tracked-node.js";
import { nodeStats } from "../../../../src/agent/tracker/usage.js";
import { aComputeNode, aFlavor, aMigration, anInstance } from "../../../fixtures/records.js";

const NODE = { memoryMb: 1024, localGb: 10 };
const RESERVED = { reservedHostCpus: 1, reservedHostMemoryMb: 512, reservedHostDiskMb: 0 };
const used = (account: NodeAccount) => account.used(NODE, RESERVED, 0);

describe("4.5 what is used on a node", () => {
  test("reserved, instances and migrations; what is free may be negative", () => {
    const account = new NodeAccount();
    account.countInstance(anInstance({ uuid: "a", flavor: aFlavor({ memoryMb: 2048 }), taskState: "rebooting" }));
    account.countMigration(aMigration({ instanceUuid: "b" }), { vcpus: 2, memoryMb: 100, localGb: 20 });
    account.countMigration(aMigration({ instanceUuid: "c" }), null);
    expect(used(account)).toMatchObject({
      vcpusUsed: 4,
      memoryMbUsed: 2660,
      localGbUsed: 21,
      freeRamMb: -1636,
      freeDiskGb: -11,
      runningVms: 1,
      currentWorkload: 1,
    });
  });

  test("the same instance counts once, as it was seen last", () => {
    const account = new NodeAccount();
    account.countInstance(anInstance());
    account.countInstance(anInstance({ flavor: aFlavor({ vcpus: 4 }) }));
    expect(used(account)).toMatchObject({ vcpusUsed: 5, runningVms: 1 });
  });

  test.each([
    [{ vmState: "deleted" }, 0],
    [{ vmState: "shelved_offloaded" }, 0],
    [{ vmState: "shelved_offloaded", taskState: "spawning" }, 1],
    [{ vmState: "stopped" }, 1],
    [{ vmState: "shelved" }, 1],
    [{ vmState: "error" }, 1],
    [{ deleted: 3 }, 0],
  ] as const)("4.5 %o counts %i (bug 2025480)", (changes, count) => {
    const account = new NodeAccount();
    account.countInstance(anInstance());
    account.countInstance(anInstance(changes));
    expect(used(account).runningVms).toBe(count);
  });
});

describe("4.5 discrete resources that were handed out", () => {
  const device = (identifier: string) => ({ providerUuid: "p", resourceClass: "VGPU", identifier });
  const flavor = aFlavor({ vcpus: 1 });
  const vcpus = (account: NodeAccount) => used(account).vcpusUsed - RESERVED.reservedHostCpus;

  function holding(): NodeAccount {
    const account = new NodeAccount();
    account.countInstance(anInstance({ uuid: "a", flavor }));
    account.assign("a", [device("1")]);
    account.countMigration(aMigration({ instanceUuid: "b" }), { vcpus: 2, memoryMb: 0, localGb: 0 });
    account.assign("b", [device("2"), device("3")]);
    return account;
  }
  const held = (account: NodeAccount) => account.assigned.map(({ identifier }) => identifier);

  test("are kept by who holds them; nothing replaces nothing", () => {
    const account = holding();
    account.assign("a", []);
    expect([held(account), vcpus(account)]).toEqual([["1", "2", "3"], 3]);
    account.assign("a", [device("4")]);
    expect(held(account)).toEqual(["4", "2", "3"]);
  });

  test("go with the instance or the migration that is forgotten", () => {
    const account = holding();
    account.forgetInstance("a");
    expect([held(account), vcpus(account), account.hasInstance("a")]).toEqual([["2", "3"], 2, false]);
    account.forgetMigration("b");
    expect([held(account), vcpus(account), account.migrationOf("b")]).toEqual([[], 0, undefined]);
  });

  test("stay with an instance whose migration counts no more", () => {
    const account = holding();
    account.stopCountingMigration("b");
    expect([held(account), vcpus(account), account.migrations]).toEqual([["1", "2", "3"], 1, []]);
  });

  test("are all forgotten with the count", () => {
    const account = holding();
    account.clear();
    expect([held(account), vcpus(account), account.migrations]).toEqual([[], 0, []]);
  });
});

test("4.5 an instance at rest loads neither disk nor network", () => {
  expect(nodeStats([anInstance()], 0)).toMatchObject({ io_workload: "0", num_task_None: "1", num_os_type_None: "1" });
});

test.each([
  "resize_migrating",
  "rebuilding",
  "resize_prep",
  "image_snapshot",
  "image_backup",
  "rescuing",
  "unshelving",
] as const)("4.5 one that is %s does", (taskState) => {
  expect(nodeStats([anInstance({ taskState })], 0).io_workload).toBe("1");
});

test("4.5 stats: Nova's keys, sorted; the driver's win; failed_builds stays", () => {
  const instances = [
    anInstance({ vmState: "building", taskState: "spawning", systemMetadata: { os_type: "linux" } }),
    anInstance({ taskState: "resize_prep" }),
  ];
  const stats = nodeStats(instances, 3, { arch: "x86_64" });
  expect(stats).toEqual({
    arch: "x86_64",
    failed_builds: "3",
    io_workload: "2",
    num_instances: "2",
    num_os_type_None: "1",
    num_os_type_linux: "1",
    num_proj_project: "2",
    num_task_resize_prep: "1",
    num_task_spawning: "1",
    num_vm_active: "1",
    num_vm_building: "1",
  });
  expect(Object.keys(stats)).toEqual(Object.keys(stats).sort());
  expect(nodeStats(instances.toReversed(), 3, { arch: "x86_64" })).toEqual(stats);
});

describe("4.4 step 11 the last persisted image", () => {
  test("only what differs is saved; equal lists and statistics do not", () => {
    const node = new TrackedNode(aComputeNode({ stats: { a: "1" }, supportedHvSpecs: [["x", "y", "z"]] }));
    node.set({ stats: { a: "1" }, supportedHvSpecs: [["x", "y", "z"]] });
    expect(node.changes()).toBeNull();
    node.set({ vcpus: 11, stats: { a: "2" } });
    expect(node.changes()).toEqual({ vcpus: 11, stats: { a: "2" } });
    node.persisted({ ...node.row, updatedAt: 5 });
    expect(node.changes()).toBeNull();
    expect(node.row.updatedAt).toBe(5);
  });

  test("failed_builds starts at none, whatever an earlier process has written", () => {
    expect(new TrackedNode(aComputeNode({ stats: { failed_builds: "12" } })).failedBuilds).toBe(0);
  });
});
