import { describe, expect, test } from "vitest";
import type { Migration } from "../../../../src/records/index.js";
import { addItem, counts, evacuation, on, resize, type Setting, twoNodes } from "../support/two-nodes.js";

const EVACUATES = { taskState: ["rebuilding"], ofRequest: "req-evacuate" } as const;

/** Each entry prepares something, and returns the write. */
const WRITES: readonly (readonly [string, (setting: Setting) => Promise<() => Promise<unknown>>])[] = [
  [
    "instanceClaim",
    async ({ world, agent }) => {
      const vm = world.instance();
      return () => agent.tracker.instanceClaim(vm, "n2", {});
    },
  ],
  [
    "the abort of an instanceClaim",
    async ({ world, agent }) => {
      const claim = await agent.tracker.instanceClaim(world.instance(), "n2", {});
      return () => claim.abort();
    },
  ],
  ["rebuildClaim", async (setting) => (await evacuation(setting)).claim],
  [
    "the abort of a rebuildClaim",
    async (setting) => {
      const claim = await (await evacuation(setting)).claim();
      return () => claim.abort({ migrationStatus: "failed" });
    },
  ],
  ["resizeClaim", async (setting) => (await resize(setting)).claim],
  [
    "the abort of a resizeClaim",
    async (setting) => {
      const claim = await (await resize(setting)).claim();
      return () => claim.abort({ migrationStatus: "error" });
    },
  ],
  [
    "saveMove",
    async (setting) => {
      const { vm, claim } = await resize(setting);
      const { migration } = await claim();
      const write = { instance: vm, changes: { taskState: null }, migrationChanges: { status: "error" } as const };
      return () => setting.agent.tracker.saveMove({ ...write, migration: migration as Migration });
    },
  ],
  [
    "finishEvacuation",
    async (setting) => {
      const { vm, migration, claim } = await evacuation(setting);
      await claim();
      return () => setting.agent.tracker.finishEvacuation(vm, "n2", migration, {}, EVACUATES);
    },
  ],
  [
    "updateUsage",
    async (setting) => {
      const vm = on(setting, "h1", "n2");
      const saved = () => setting.world.store.instances.save(vm.uuid, { vmState: "shelved_offloaded" });
      return () => setting.agent.tracker.updateUsage(saved(), "n2");
    },
  ],
  [
    "saveInstance",
    async (setting) => {
      const vm = on(setting, "h1", "n2");
      return () => setting.agent.tracker.saveInstance(vm, { vmState: "deleted" });
    },
  ],
];

test.each(WRITES)("4.1 a pass on several nodes does not count what it read before %s", async (_, prepare) => {
  // A watched tracker recounts after each write, which would itself outdate the records.
  const setting = await twoNodes({ watched: false });
  const { agent } = setting;
  const write = await prepare(setting);
  await agent.tracker.updateAvailableResource({ startup: false });
  const before = counts(setting);
  let written: Promise<unknown> | undefined;
  agent.hypervisor.fail = async (method, subject) => {
    if (method === "getAvailableResource" && subject === "n2") {
      written ??= write();
      await written;
    }
    return undefined;
  };
  await agent.tracker.updateAvailableResource({ startup: false });
  const during = counts(setting);
  expect(written).toBeDefined();
  expect(during).not.toEqual(before);
  await agent.tracker.updateAvailableResource({ startup: false });
  expect(during).toEqual(counts(setting));
});

describe("4.2 what a claim takes back", () => {
  test("an abort that the conductor refuses for another reason than a deleted instance fails", async () => {
    const { world, agent } = await twoNodes();
    const claim = await agent.tracker.instanceClaim(world.instance(), "n2", {});
    agent.session.fail = ({ method }) => (method === "instance_save" ? new TypeError("broken") : undefined);
    await expect(claim.abort()).rejects.toThrow("broken");
  });

  test.each([
    ["an evacuation", evacuation, "rebuilding", "rebuild_spawning"],
    ["a resize", resize, "resize_prep", "resize_prep"],
  ] as const)(
    "%s is only claimed in its task, and its abort leaves what another request has",
    async (_, begin, task, later) => {
      const setting = await twoNodes();
      const { world } = setting;
      const { vm, migration, claim } = await begin(setting);
      world.store.instances.save(vm.uuid, { taskState: "deleting" });
      await expect(claim()).rejects.toMatchObject({ name: "UnexpectedDeletingTaskState" });
      expect(counts(setting).vcpusUsed).toBe(0);
      world.store.instances.save(vm.uuid, { taskState: task });
      const claimed = await claim();
      expect(counts(setting).vcpusUsed).toBeGreaterThan(0);
      world.store.instances.save(vm.uuid, { taskState: "powering-off" });
      const after = await claimed.abort({ migrationStatus: "failed", instance: { taskState: null } });
      expect(after).toMatchObject({ taskState: "powering-off" });
      expect(world.stored(vm.uuid)).toEqual(after);
      expect(world.store.migrations.get(migration.id)?.status).toBe("failed");
      expect(counts(setting).vcpusUsed).toBe(0);
      world.store.instances.save(vm.uuid, { taskState: later });
      expect(await claimed.abort()).toMatchObject({ taskState: later, migrationContext: null, newFlavor: null });
      expect(world.store.migrations.get(migration.id)?.status, "goes on elsewhere").toBe("failed");
    },
  );

  test("an abort without an end leaves the migration as it is", async () => {
    const setting = await twoNodes();
    const { migration, claim } = await resize(setting);
    await (await claim()).abort();
    expect(setting.world.store.migrations.get(migration.id)?.status).toBe("pre-migrating");
    expect(counts(setting).vcpusUsed).toBe(0);
  });

  test("an evacuation that continues here still counts when its claim's abort finds another task", async () => {
    const setting = await twoNodes();
    const { world } = setting;
    const { vm, claim } = await resize(setting);
    const claimed = await claim();
    world.store.instances.save(vm.uuid, { taskState: "resize_migrating" });
    await claimed.abort();
    expect(counts(setting).vcpusUsed).toBe(3);
  });

  test("an instance that was deleted meanwhile: only the usage goes, and what else fails is told", async () => {
    const setting = await twoNodes();
    const { world, agent } = setting;
    for (const begin of [evacuation, resize]) {
      const { vm, migration, claim } = await begin(setting);
      const claimed = await claim();
      agent.session.fail = ({ method }) => (method === "save_together" ? new TypeError("broken") : undefined);
      await expect(claimed.abort()).rejects.toThrow("broken");
      agent.session.fail = () => undefined;
      world.store.instances.destroy(vm.uuid, { guardHostIsNull: false });
      expect(await claimed.abort({ migrationStatus: "failed" })).toEqual(claimed.instance);
      expect(world.store.migrations.get(migration.id)?.status).not.toBe("failed");
      expect(counts(setting).vcpusUsed).toBe(0);
    }
  });

  test("an abort writes the node's row at once", async () => {
    const { world, agent } = await twoNodes();
    const claim = await agent.tracker.instanceClaim(world.instance(), "n2", {});
    await claim.abort();
    expect(world.store.computeNodes.getByHostAndNode("h1", "n2")?.runningVms).toBe(0);
  });
});

test("2.5 a claim reads anew whether the service is disabled", async () => {
  const { world, agent } = await twoNodes();
  const service = world.store.services.getByHost("h1", "nova-compute");
  const traits = async () => {
    world.admin.clearProviderCache();
    const { uuid } = world.store.computeNodes.getByHostAndNode("h1", "n2") ?? { uuid: "" };
    return (await world.admin.getProviderTreeAndEnsureRoot(uuid, "n2")).data(uuid).traits;
  };
  expect([...(await traits())]).not.toContain("COMPUTE_STATUS_DISABLED");
  world.store.services.update(service?.id ?? 0, { disabled: true });
  await agent.tracker.instanceClaim(world.instance(), "n2", {}, "req-build");
  expect([...(await traits())]).toContain("COMPUTE_STATUS_DISABLED");
});

test.each([
  ["evacuation", evacuation],
  ["resize", resize],
] as const)("4.2 items that the claim of an %s took are not given to another", async (type, begin) => {
  const setting = await twoNodes();
  const { world, agent } = setting;
  const item = await addItem(setting);
  const { vm, migration } = await begin(setting);
  const claim =
    type === "resize"
      ? await agent.tracker.resizeClaim(vm, "n2", migration, world.flavor(), item)
      : await agent.tracker.rebuildClaim(vm, "n2", migration, item);
  expect(claim.instance.migrationContext?.newResources).toMatchObject([{ identifier: "item-1" }]);
  await expect(agent.tracker.instanceClaim(world.instance(), "n2", item)).rejects.toThrow("0 of 1 CUSTOM_ITEM free");
  await claim.abort({ migrationStatus: "failed" });
  await agent.tracker.instanceClaim(world.instance(), "n2", item);
});
