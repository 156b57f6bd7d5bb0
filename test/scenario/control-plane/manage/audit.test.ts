import { beforeEach, describe, expect, test } from "vitest";
import type { MigrationStatus, MigrationType } from "../../../../src/records/index.js";
import { NEED } from "../../../unit/control-plane/conductor/tasks/bench.js";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";
import { errorResponse, inventoryOf } from "../../../unit/placement-client/bench.js";

let bench: ManageBench;
let d1: string;
let d2: string;

beforeEach(async () => {
  bench = await ManageBench.open();
  d1 = await bench.host("devstack1");
  d2 = await bench.host("devstack2");
});

const UNKNOWN_CONSUMER = "deadbeef-0000-4000-8000-000000000001";
const SECOND = "deadbeef-0000-4000-8000-000000000002";

/** Creates a child of the provider with inventory. */
async function child(parent: string, name: string, inventory: string): Promise<string> {
  const uuid = bench.placement.runtime.random.uuid();
  const { placement } = bench.conductor;
  const tree = await placement.getProviderTreeAndEnsureRoot(parent, name);
  tree.newChild(`${name}_child`, parent, uuid);
  tree.updateInventory(uuid, { [inventory]: inventoryOf(8) });
  await placement.updateFromProviderTree(tree);
  return uuid;
}

describe("7.4 flags", () => {
  test.each(["00000000-0000-4000-8000-00000000dead", "devstack1", "", "a&b=c"])(
    "--resource_provider %s is code 127",
    async (uuid) => {
      expect(await bench.audit({ resourceProvider: uuid, verbose: false })).toEqual({
        rc: 127,
        stdout: `Resource provider with UUID ${uuid} does not exist.\n`,
      });
    },
  );

  test("with one provider the others are not read", async () => {
    await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
    expect((await bench.audit({ resourceProvider: d2 })).rc).toBe(0);
    expect((await bench.audit({ resourceProvider: d1, delete: true })).rc).toBe(4);
    expect((await bench.audit()).rc).toBe(0);
  });
});

describe("7.4 orphans", () => {
  test("a consumer with an instance or a migration in progress on the host is none", async () => {
    const { uuid } = await bench.server("devstack2");
    const { uuid: migration } = bench.move(uuid, "migration", "finished", "devstack1", "devstack2");
    await bench.put(migration, { devstack1: NEED });
    expect(await bench.audit()).toEqual({ rc: 0, stdout: "" });
  });

  test("a consumer without resources of Nova's is ignored", async () => {
    const uuid = await child(d1, "devstack1", "CUSTOM_GOLD");
    await bench.put(UNKNOWN_CONSUMER, { [uuid]: { CUSTOM_GOLD: 1 } });
    expect((await bench.audit()).rc).toBe(0);
  });

  test("a child provider's compute node is the root's, and only the child's allocations are deleted", async () => {
    const uuid = await child(d1, "devstack1", "VGPU");
    const { uuid: instance } = await bench.server("devstack1");
    await bench.put(instance, { devstack1: NEED, [uuid]: { VGPU: 1 } });
    await bench.put(UNKNOWN_CONSUMER, { devstack2: { VCPU: 1 }, [uuid]: { VGPU: 2 } });
    const { uuid: elsewhere } = await bench.server("devstack2");
    await bench.put(elsewhere, { devstack2: NEED, [uuid]: { VGPU: 1 } });
    const { rc, stdout } = await bench.audit({ resourceProvider: uuid, delete: true });
    expect([rc, stdout.match(/Processed.*/)?.[0]]).toEqual([4, "Processed 2 allocations."]);
    expect(await bench.held(instance)).toEqual({ devstack1: NEED, [uuid]: { VGPU: 1 } });
    expect(await bench.held(UNKNOWN_CONSUMER)).toEqual({ devstack2: { VCPU: 1 } });
    expect(await bench.held(elsewhere)).toEqual({ devstack2: NEED });
  });

  test("without a compute node every consumer is one", async () => {
    const { uuid } = await bench.server("devstack1");
    for (const { id, host } of bench.store.computeNodes.byHost("devstack1")) {
      bench.store.computeNodes.destroy(id, host);
    }
    const { rc, stdout } = await bench.audit();
    expect(stdout).toMatch(new RegExp(`^The compute node for UUID ${d1} can not be found\nAllocations .* ${uuid} `));
    expect(rc).toBe(3);
  });
});

describe("9.3 leaks that audit --delete repairs", () => {
  const moves: readonly (readonly [string, MigrationType, MigrationStatus])[] = [
    ["row 1: a migration holds the source after a conflict on confirm", "migration", "confirmed"],
    ["row 2: a migration holds the source after a failed revert", "resize", "error"],
    ["row 3: a migration holds the source after a failed post live migration", "live-migration", "error"],
    ["row 3: … and after one that failed otherwise", "live-migration", "failed"],
  ];
  test.each(moves)("%s", async (_row, type, status) => {
    const { uuid } = await bench.server("devstack2");
    const { uuid: migration } = bench.move(uuid, type, status, "devstack1", "devstack2");
    await bench.put(migration, { devstack1: NEED });
    expect(await bench.audit({ delete: true })).toEqual({ rc: 0, stdout: "" });
    bench.elapsed = 60_000;
    expect((await bench.audit()).rc).toBe(3);
    expect((await bench.audit({ delete: true })).rc).toBe(4);
    expect([await bench.held(migration), await bench.held(uuid)]).toEqual([{}, { devstack2: NEED }]);
  });

  test("row 4: an instance has allocations on the source after a failed clean-up of its evacuation", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    expect((await bench.audit({ delete: true })).rc).toBe(4);
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("row 5: an orphaned provider can be deleted afterwards", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    for (const { id, host } of bench.store.computeNodes.byHost("devstack1")) {
      bench.store.computeNodes.destroy(id, host);
    }
    await expect(bench.placement.ask("DELETE", `/resource_providers/${d1}`)).rejects.toThrow("409");
    expect((await bench.audit({ delete: true })).rc).toBe(4);
    await bench.placement.ask("DELETE", `/resource_providers/${d1}`);
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("row 6: a deleted instance has allocations on its host", async () => {
    const { uuid } = await bench.server("devstack1");
    bench.store.instances.destroy(uuid);
    expect((await bench.audit({ delete: true })).rc).toBe(4);
    expect(await bench.held(uuid)).toEqual({});
  });
});

describe("7.4 OPT: builds and moves in progress are no orphans, except with the quirk audit-races-builds", () => {
  const races: Readonly<Record<string, () => Promise<string>>> = {
    "a build that has claimed, and is not in a cell yet": async () => {
      const uuid = bench.conductor.request();
      await bench.put(uuid, { devstack1: NEED });
      return uuid;
    },
    "a build whose instance has no host yet": async () => {
      const { uuid } = await bench.server("devstack1");
      bench.store.instances.save(uuid, {
        vmState: "building",
        taskState: null,
        host: null,
        node: null,
        computeId: null,
      });
      return uuid;
    },
    "an evacuation that has claimed its destination": async () => {
      const { uuid } = await bench.server("devstack1");
      bench.store.instances.save(uuid, { taskState: "rebuilding" });
      await bench.put(uuid, { devstack1: NEED, devstack2: NEED });
      return uuid;
    },
    "a live migration that copies": async () => {
      const { uuid } = await bench.server("devstack1");
      bench.move(uuid, "live-migration", "running", "devstack1", "devstack2");
      await bench.put(uuid, { devstack2: NEED });
      return uuid;
    },
    "a resize that waits for its confirmation and holds both hosts": async () => {
      const { uuid } = await bench.server("devstack2");
      bench.move(uuid, "resize", "finished", "devstack1", "devstack2");
      await bench.put(uuid, { devstack1: NEED, devstack2: NEED });
      return uuid;
    },
  };

  test.each(Object.keys(races))("%s", async (name) => {
    const consumer = (await races[name]?.()) ?? "";
    const before = await bench.held(consumer);
    expect(await bench.audit({ delete: true })).toEqual({ rc: 0, stdout: "" });
    expect(await bench.held(consumer)).toEqual(before);
    bench.quirks.add("audit-races-builds");
    expect((await bench.audit()).rc).toBe(3);
    expect((await bench.audit({ delete: true })).rc).toBe(4);
    expect(await bench.held(consumer)).not.toEqual(before);
  });

  test("a build that ends during the audit", async () => {
    const { uuid } = await bench.server("devstack1");
    await bench.unset(uuid);
    bench.placement.inject({ on: "GET /resource_providers/", does: () => bench.put(uuid, { devstack1: NEED }) });
    expect((await bench.audit({ delete: true })).rc).toBe(0);
    expect(await bench.held(uuid)).toEqual({ devstack1: NEED });
  });

  test("allocations removed during the audit are not reported", async () => {
    await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
    bench.before.set("consumers_under_way", () => bench.unset(UNKNOWN_CONSUMER));
    expect(await bench.audit()).toEqual({ rc: 0, stdout: "" });
  });

  test("a consumer that claims more after the check is not changed: code 1", async () => {
    await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
    bench.placement.inject({
      on: "PUT /allocations",
      does: () => bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 }, devstack2: { VCPU: 1 } }),
    });
    expect((await bench.audit({ delete: true })).rc).toBe(1);
    expect(await bench.held(UNKNOWN_CONSUMER)).toEqual({ devstack1: { VCPU: 1 }, devstack2: { VCPU: 1 } });
  });

  test("a consumer that was recreated after the check with the same generation is not changed: code 1", async () => {
    await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
    await bench.put(SECOND, { devstack1: { VCPU: 1 } });
    // Runs while the first of the two is being deleted.
    const later = [UNKNOWN_CONSUMER, SECOND].sort()[1] ?? SECOND;
    bench.placement.inject({
      on: "PUT /allocations",
      does: async () => {
        await bench.unset(later);
        await bench.put(later, { devstack2: { VCPU: 1 } });
      },
    });
    expect((await bench.audit({ delete: true })).rc).toBe(1);
    expect(await bench.held(later)).toEqual({ devstack2: { VCPU: 1 } });
  });
});

describe("7.4 errors of Placement", () => {
  const stop = (provider: string) =>
    `The Resource Provider ${provider} had problems when deleting allocations. Stopping now. Please fix the problem by hand and run again.\n`;

  test.each([
    [409, "placement.concurrent_update", "consumer generation conflict"],
    [500, "x", "boom"],
  ] as const)(
    "%i during deletion: the provider's other consumers are deleted, the next provider's are not, code 1",
    async (status, code, detail) => {
      await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
      await bench.put(SECOND, { devstack1: { VCPU: 1 } });
      const third = "deadbeef-0000-4000-8000-000000000003";
      await bench.put(third, { devstack2: { VCPU: 1 } });
      bench.placement.inject({ on: `PUT /allocations/${UNKNOWN_CONSUMER}`, does: errorResponse(status, code, detail) });
      expect(await bench.audit({ delete: true, verbose: false })).toEqual({
        rc: 1,
        stdout: `Not able to delete allocations for consumer UUID ${UNKNOWN_CONSUMER}\n${stop(d1)}`,
      });
      expect([await bench.held(UNKNOWN_CONSUMER), await bench.held(SECOND), await bench.held(third)]).toEqual([
        { devstack1: { VCPU: 1 } },
        {},
        { devstack2: { VCPU: 1 } },
      ]);
      expect((await bench.audit({ delete: true })).rc).toBe(4);
    },
  );

  test("audit-races-builds deletes by force: 500 is code 1, already deleted is fine", async () => {
    bench.quirks.add("audit-races-builds");
    await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 1 } });
    bench.placement.inject({ on: "DELETE /allocations", does: errorResponse(500, "x", "boom") });
    expect((await bench.audit({ delete: true })).rc).toBe(1);
    bench.placement.inject({ on: "DELETE /allocations", does: () => bench.unset(UNKNOWN_CONSUMER) });
    expect((await bench.audit({ delete: true })).rc).toBe(4);
  });

  test("a provider whose allocations cannot be read is code 255, reported first", async () => {
    bench.placement.inject({ on: `GET /resource_providers/${d1}/allocations`, does: errorResponse(500, "x", "boom") });
    const { rc, stdout } = await bench.audit({ verbose: false });
    expect(rc).toBe(255);
    expect(stdout).toMatch(
      new RegExp(
        `^Not able to find allocations for resource provider ${d1}\\.\nAn error has occurred:\nResourceProviderAllocationRetrievalFailed: .*boom`,
      ),
    );
  });

  test.each(["refuse", errorResponse(500, "x", "boom")] as const)(
    "no list of providers (%j): code 255",
    async (does) => {
      bench.placement.inject({ on: "GET /resource_providers", does });
      const { rc, stdout } = await bench.audit({ verbose: false });
      expect(rc).toBe(255);
      expect(stdout).toMatch(/^An error has occurred:\n/);
    },
  );

  test("an error of Placement is not reported as an unknown provider", async () => {
    bench.placement.inject({ on: "GET /resource_providers", does: errorResponse(500, "x", "boom") });
    expect((await bench.audit({ resourceProvider: d1 })).rc).toBe(255);
  });
});
