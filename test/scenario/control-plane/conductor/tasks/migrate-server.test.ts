import { beforeEach, describe, expect, it } from "vitest";
import type { Flavor, Instance } from "../../../../../src/records/index.js";
import { ConductorBench, FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { MigrateBench, UNCHANGED } from "../../../../unit/control-plane/conductor/tasks/migrate-bench.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

const CONFLICT = errorResponse(
  409,
  "placement.concurrent_update",
  "consumer generation conflict - expected 1 but got 2",
);
const SMALL: Flavor = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };
const SMALL_NEED = { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 };
const PIKE = 22;

let migrate: MigrateBench;
let bench: ConductorBench;
let instance: Instance;

async function open(options?: Parameters<typeof MigrateBench.open>[0]): Promise<void> {
  use(await MigrateBench.open(options));
}

function use(migrateBench: MigrateBench): void {
  migrate = migrateBench;
  ({ bench, instance } = migrateBench);
}

describe("6.3 split", () => {
  beforeEach(() => open());

  it("6.3 rows 2, 3: the migration has the source allocations, the instance those on the destination, which gets the message", async () => {
    await bench.run(migrate.task({ flavor: SMALL }));
    const migration = migrate.onlyMigration();
    expect(migration).toMatchObject({
      migrationType: "resize",
      status: "pre-migrating",
      sourceCompute: "devstack1",
      sourceNode: "devstack1",
      destCompute: "devstack2",
      destNode: null,
      oldInstanceTypeId: 1,
      newInstanceTypeId: 2,
    });
    expect(await migrate.held()).toEqual({ instance: { devstack2: SMALL_NEED }, migration: { devstack1: NEED } });
    expect(bench.casts).toMatchObject([
      {
        host: "devstack2",
        method: "prep_resize",
        params: {
          migrationId: migration.id,
          flavor: SMALL,
          node: "devstack2",
          retry: { numAttempts: 1, hosts: [["devstack2", "devstack2"]] },
        },
      },
    ]);
    expect(bench.store.requests.spec(instance.uuid)?.flavor).toEqual(SMALL);
  });

  it("6.3 V26: the instance's allocations move before the destination is claimed", async () => {
    await bench.run(migrate.task());
    const writes = bench.placementBench.sent.filter(({ method }) => method !== "GET");
    expect(writes.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, "I")}`)).toEqual([
      "POST /allocations",
      "PUT /allocations/I",
    ]);
  });

  it("a requested host is the only one, and is not rescheduled", async () => {
    await bench.run(migrate.task({ host: "devstack2" }));
    expect(bench.casts).toHaveLength(1);
    expect(bench.casts[0]?.params).toMatchObject({ alternates: [] });
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("max_attempts 1: no retry information, so that a failing destination does not reschedule", async () => {
    await open({ maxAttempts: 1 });
    await bench.run(migrate.task());
    expect(bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("6.3 row 2 fail: after a conflict the instance keeps all allocations", async () => {
    bench.placementBench.inject({ on: "POST /allocations", does: CONFLICT, times: 4 });
    await bench.run(migrate.task());
    expect(migrate.state()).toEqual(UNCHANGED);
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.casts).toEqual([]);
    expect(bench.store.instances.fault(instance.uuid)?.message).toMatch(/^Failed to move allocations from consumer /);
  });

  it("6.3 row 3 fail: without a host the allocations return before the task ends", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(migrate.task({ flavor: SMALL }));
    // A resize may stay on the same host, so only a cold migration fails here.
    expect(migrate.state().status).toBe("pre-migrating");
    await open();
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(migrate.task());
    expect(migrate.state()).toEqual(UNCHANGED);
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.store.instances.fault(instance.uuid)?.message).toMatch(/No valid host was found/);
    expect(bench.store.requests.spec(instance.uuid)?.flavor).toEqual(FLAVOR);
  });

  it("6.3 row 3 fail: a conflict of the claim returns the source allocations", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    await bench.run(migrate.task());
    expect(migrate.state()).toEqual(UNCHANGED);
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });

  it("6.3 row 3, V27: if the allocations cannot be moved back, the server is in error", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    bench.placementBench.inject({ on: "POST /allocations", does: CONFLICT, skip: 1, times: 4 });
    await bench.run(migrate.task());
    expect(migrate.state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(await migrate.held()).toEqual({ instance: {}, migration: { devstack1: NEED } });
  });

  it("both events are recorded with their failure", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(migrate.task());
    const action = bench.store.actions.get(instance.uuid, "req-migrate");
    const events = bench.store.actions.events(action?.id ?? 0);
    expect(events.map(({ event, result }) => [event, result])).toEqual([
      ["conductor_migrate_server", "Error"],
      ["cold_migrate", "Error"],
    ]);
  });
});

describe("6.0 doubled: one nova-compute is of Pike", () => {
  beforeEach(() => open({ version: PIKE }));

  it("the instance has both allocations, and no migration has any", async () => {
    await bench.run(migrate.task());
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED, devstack2: NEED }, migration: {} });
    expect(bench.casts.map(({ host }) => host)).toEqual(["devstack2"]);
  });

  it("removes only the destination's part if another operation owns the instance", async () => {
    bench.placementBench.inject({
      on: `PUT /allocations/${instance.uuid}`,
      does: () => void bench.store.instances.save(instance.uuid, { taskState: null }),
    });
    await bench.run(migrate.task());
    expect(bench.casts).toEqual([]);
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });
});

describe("6.4: a resize on one host whose sum exceeds max_unit", () => {
  const SIX: Flavor = { ...FLAVOR, id: 6, flavorid: "6", name: "six", vcpus: 6 };
  const EIGHT: Flavor = { ...FLAVOR, id: 8, flavorid: "8", name: "eight", vcpus: 8 };

  async function resize(version: number): Promise<void> {
    const conductorBench = await ConductorBench.open();
    await conductorBench.host("devstack1", { version, vcpus: 10, cpuRatio: 16 });
    use(new MigrateBench(conductorBench, await conductorBench.server("devstack1")));
    const [node] = bench.store.computeNodes.byHost("devstack1");
    const { projectId, userId } = instance;
    const request = { allocations: { [node?.uuid ?? ""]: { resources: { ...NEED, VCPU: 6 } } } };
    const claim = { consumer: instance.uuid, projectId, userId, version: "1.36", held: "replace" } as const;
    expect(await bench.placement.claimResources({ ...claim, request })).toBe(true);
    bench.store.instances.save(instance.uuid, { flavor: SIX, instanceTypeId: 6, vcpus: 6 });
    await bench.run(migrate.task({ flavor: EIGHT }));
  }

  it("fails with doubled: one record of 14", async () => {
    await resize(PIKE);
    expect(migrate.state()).toEqual(UNCHANGED);
    expect(await migrate.held()).toEqual({ instance: { devstack1: { ...NEED, VCPU: 6 } }, migration: {} });
  });

  it("works with split: records of 6 and of 8", async () => {
    await resize(30);
    expect(migrate.state()).toMatchObject({ taskState: "resize_prep", status: "pre-migrating" });
    expect(await migrate.held()).toEqual({
      instance: { devstack1: { ...NEED, VCPU: 8 } },
      migration: { devstack1: { ...NEED, VCPU: 6 } },
    });
  });

  it("doubled adds both on one host if the sum fits, and subtracts its part again", async () => {
    await open({ version: PIKE, hosts: ["devstack1"] });
    await bench.run(migrate.task({ flavor: SMALL }));
    const both = { VCPU: 2, MEMORY_MB: 2560, DISK_GB: 21 };
    expect(await migrate.held()).toEqual({ instance: { devstack1: both }, migration: {} });
    await bench.run(migrate.task({ flavor: SMALL, migrationId: migrate.onlyMigration().id, alternates: [] }));
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });
});

describe("a conductor killed at any request", () => {
  it.each([
    { on: "POST /allocations", does: "hang" },
    { on: "POST /allocations", does: "hang-after" },
    { on: "PUT /allocations/", does: "hang" },
    { on: "PUT /allocations/", does: "hang-after" },
  ] as const)("starts over: $on $does", async ({ on, does }) => {
    for (const version of [PIKE, 73]) {
      await open({ version });
      bench.placementBench.inject({ on, does });
      bench.store.tasks.add(migrate.task());
      void bench.run();
      for (let turn = 0; turn < 200; turn += 1) {
        await Promise.resolve();
      }
      bench.placementBench.heal();
      if (bench.casts.length === 0) {
        await bench.restart();
      }
      expect(bench.casts.map(({ method }) => method)).toEqual(["prep_resize"]);
      expect(migrate.migrations()).toHaveLength(1);
      expect(await migrate.held()).toEqual(
        version === PIKE
          ? { instance: { devstack1: NEED, devstack2: NEED }, migration: {} }
          : { instance: { devstack2: NEED }, migration: { devstack1: NEED } },
      );
    }
  });
});

describe("the instance is deleted meanwhile", () => {
  it("no allocations of the instance and the migration remain", async () => {
    await open();
    bench.placementBench.inject({
      on: `PUT /allocations/${instance.uuid}`,
      does: () => {
        bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
        bench.store.instances.destroy(instance.uuid);
      },
    });
    await bench.run(migrate.task());
    const [migration] = bench.store.migrations.byFilters({ instanceUuid: instance.uuid, readDeleted: true });
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(await bench.held(migration?.uuid ?? "")).toEqual({});
    expect(bench.casts).toEqual([]);
  });
});
