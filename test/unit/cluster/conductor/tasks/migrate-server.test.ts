import { beforeEach, describe, expect, it } from "vitest";
import type { Task } from "../../../../../src/cluster/conductor/task.js";
import type {
  DestinationFailure,
  Flavor,
  Instance,
  Migration,
  Selection,
} from "../../../../../src/conductor/records/index.js";
import { refusal } from "../../../placement/bench.js";
import { ConductorBench, FLAVOR, NEED } from "./bench.js";

const CONFLICT = refusal(409, "placement.concurrent_update", "consumer generation conflict - expected 1 but got 2");
const SMALL: Flavor = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };
const SMALL_NEED = { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 };
const PIKE = 22;

type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

let bench: ConductorBench;
let instance: Instance;

async function open(
  options: { readonly version?: number; readonly hosts?: readonly string[]; readonly maxAttempts?: number } = {},
): Promise<void> {
  bench = await ConductorBench.open(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts });
  for (const host of options.hosts ?? ["devstack1", "devstack2"]) {
    await bench.host(host, options.version === undefined ? {} : { version: options.version });
  }
  instance = await bench.server("devstack1");
  prepare();
}

function prepare(): void {
  bench.store.instances.save(instance.uuid, { taskState: "resize_prep" });
  const { projectId, userId } = instance;
  const requestId = "req-migrate";
  bench.store.actions.start({ action: "migrate", instanceUuid: instance.uuid, requestId, userId, projectId });
}

const task = (more: Partial<MigrateTask> = {}): MigrateTask => ({
  kind: "migrate_server",
  instanceUuid: instance.uuid,
  requestId: "req-migrate",
  flavor: FLAVOR,
  host: null,
  ...more,
});

const migrations = (): Migration[] => bench.store.migrations.byFilters({ instanceUuid: instance.uuid });
const onlyMigration = (): Migration => {
  const [migration, second] = migrations();
  if (migration === undefined || second !== undefined) throw new Error(`${migrations().length} migrations`);
  return migration;
};
const held = async () => ({
  instance: await bench.held(instance.uuid),
  migration: await bench.held(migrations()[0]?.uuid ?? instance.uuid.replace(/.$/, "x")),
});
const state = () => {
  const { vmState, taskState, host } = bench.instance(instance.uuid);
  return { vmState, taskState, host, status: migrations().at(-1)?.status };
};
const UNCHANGED = { vmState: "active", taskState: null, host: "devstack1", status: "error" };

describe("6.3 split", () => {
  beforeEach(() => open());

  it("6.3 rows 2, 3: the migration holds the source, the instance the destination, which is told", async () => {
    await bench.run(task({ flavor: SMALL }));
    const migration = onlyMigration();
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
    expect(await held()).toEqual({ instance: { devstack2: SMALL_NEED }, migration: { devstack1: NEED } });
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
    await bench.run(task());
    const writes = bench.placementBench.sent.filter(({ method }) => method !== "GET");
    expect(writes.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, "I")}`)).toEqual([
      "POST /allocations",
      "PUT /allocations/I",
    ]);
  });

  it("a host that was asked for is not rescheduled, and is the only one", async () => {
    await bench.run(task({ host: "devstack2" }));
    expect(bench.casts).toHaveLength(1);
    expect(bench.casts[0]?.params).toMatchObject({ alternates: [] });
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("max_attempts 1: no retry information, so that a destination that fails asks for no other", async () => {
    await open({ maxAttempts: 1 });
    await bench.run(task());
    expect(bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("6.3 row 2 fail: a conflict leaves everything with the instance", async () => {
    bench.placementBench.inject({ on: "POST /allocations", does: CONFLICT, times: 4 });
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.casts).toEqual([]);
    expect(bench.store.instances.fault(instance.uuid)?.message).toMatch(/^Failed to move allocations from consumer /);
  });

  it("6.3 row 3 fail: without a host the allocations go back before the task ends", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(task({ flavor: SMALL }));
    // The same host is allowed for a resize, so that it needs a cold migration to fail.
    expect(state().status).toBe("pre-migrating");
    await open();
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.store.instances.fault(instance.uuid)?.message).toMatch(/No valid host was found/);
    expect(bench.store.requests.spec(instance.uuid)?.flavor).toEqual(FLAVOR);
  });

  it("6.3 row 3 fail: a conflict at the claim gives the source back", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });

  it("6.3 row 3, V27: what cannot be given back makes the server unusable", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    bench.placementBench.inject({ on: "POST /allocations", does: CONFLICT, skip: 1, times: 4 });
    await bench.run(task());
    expect(state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(await held()).toEqual({ instance: {}, migration: { devstack1: NEED } });
  });

  it("records both of its events, and their failure", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await bench.run(task());
    const action = bench.store.actions.get(instance.uuid, "req-migrate");
    const events = bench.store.actions.events(action?.id ?? 0);
    expect(events.map(({ event, result }) => [event, result])).toEqual([
      ["conductor_migrate_server", "Error"],
      ["cold_migrate", "Error"],
    ]);
  });
});

describe("6.3 row 4: reschedules", () => {
  /** Devstack2 has given it back; its event is open. */
  const failure = (more: Partial<DestinationFailure> = {}): DestinationFailure => ({
    host: "devstack2",
    node: "devstack2",
    message: "no room",
    traceback: "Error: no room\n    at claim",
    rollback: false,
    eventId: bench.store.actions.startEvent({
      instanceUuid: instance.uuid,
      requestId: "req-migrate",
      event: "compute_prep_resize",
      host: "devstack2",
    }),
    ...more,
  });
  const prepEvent = () => {
    const action = bench.store.actions.get(instance.uuid, "req-migrate");
    return bench.store.actions.events(action?.id ?? 0).find(({ event }) => event === "compute_prep_resize");
  };
  const alternates = async (): Promise<Selection[]> => {
    await open({ hosts: ["devstack1", "devstack2", "devstack3"] });
    await bench.run(task());
    const params = bench.casts[0]?.params as { readonly alternates: Selection[]; readonly retry: MigrateTask["retry"] };
    const [migration] = migrations();
    if (migration === undefined || params.retry === undefined) throw new Error("nothing was cast");
    // The destination could not prepare it: it has moved the allocation back, and says so.
    await bench.placement.moveAllocations(migration.uuid, instance.uuid);
    return params.alternates;
  };

  it("uses the same row, and claims the alternate", async () => {
    const left = await alternates();
    const [first] = bench.casts;
    const migration = onlyMigration();
    const retry = { numAttempts: 1, hosts: [[first?.host ?? "", first?.host ?? ""] as const] };
    await bench.run(task({ migrationId: migration.id, alternates: left, retry, failure: failure() }));
    expect(onlyMigration()).toMatchObject({ id: migration.id, status: "pre-migrating" });
    expect(prepEvent()).toMatchObject({ result: "Success", traceback: null });
    expect(bench.store.instances.fault(instance.uuid)).toMatchObject({ message: "no room", host: "devstack2" });
    const [, second] = bench.casts;
    expect(second?.host).toBe(left[0]?.host);
    expect(second?.params).toMatchObject({ alternates: [], retry: { numAttempts: 2 } });
    expect(await held()).toEqual({ instance: { [second?.host ?? ""]: NEED }, migration: { devstack1: NEED } });
  });

  const noneLeft = async (more: Partial<DestinationFailure> = {}): Promise<void> => {
    await alternates();
    const retry = { numAttempts: 1, hosts: [] };
    bench.store.instances.save(instance.uuid, { newFlavor: FLAVOR });
    await bench.run(task({ migrationId: onlyMigration().id, alternates: [], retry, failure: failure(more) }));
  };

  it("ends in error when there is none left, with the destination's own error as the fault", async () => {
    await noneLeft();
    expect(state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(bench.instance(instance.uuid).newFlavor).toBeNull();
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.store.instances.fault(instance.uuid)).toMatchObject({ message: "no room", host: "devstack2" });
    expect(onlyMigration()).toMatchObject({ destCompute: "devstack2", destNode: "devstack2" });
    expect(prepEvent()).toMatchObject({
      result: "Error",
      details: "no room",
      traceback: "Error: no room\n    at claim",
    });
    const action = bench.store.actions.get(instance.uuid, "req-migrate");
    const conductors = bench.store.actions.events(action?.id ?? 0).filter(({ event }) => event === "cold_migrate");
    expect(conductors.at(-1)?.details).toBe(
      `Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance ${instance.uuid}.`,
    );
  });

  it("leaves the vm_state when the destination's driver says that nothing happened", async () => {
    await noneLeft({ rollback: true });
    expect(state()).toEqual(UNCHANGED);
    expect(prepEvent()?.result).toBe("Error");
  });

  it("ends in error too when the conductor does not know what went wrong", async () => {
    await alternates();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const retry = { numAttempts: 1, hosts: [] };
    await bench.run(task({ migrationId: onlyMigration().id, alternates: [], retry, failure: failure() }));
    expect(state()).toMatchObject({ vmState: "error", taskState: null, status: "error" });
    expect(prepEvent()?.result).toBe("Error");
  });

  it("ends the destination's event when the instance was deleted meanwhile", async () => {
    await alternates();
    const event = failure();
    const { id: migrationId } = onlyMigration();
    bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
    bench.store.instances.destroy(instance.uuid);
    await bench.run(task({ migrationId, alternates: [], retry: { numAttempts: 1, hosts: [] }, failure: event }));
    expect(prepEvent()?.result).toBe("Error");
  });
});

describe("6.0 doubled: one nova-compute is of Pike", () => {
  beforeEach(() => open({ version: PIKE }));

  it("the instance holds both halves, and no migration holds anything", async () => {
    await bench.run(task());
    expect(await held()).toEqual({ instance: { devstack1: NEED, devstack2: NEED }, migration: {} });
    expect(bench.casts.map(({ host }) => host)).toEqual(["devstack2"]);
  });

  it("gives only the destination back when the instance was taken by another operation meanwhile", async () => {
    bench.placementBench.inject({
      on: `PUT /allocations/${instance.uuid}`,
      does: () => void bench.store.instances.save(instance.uuid, { taskState: null }),
    });
    await bench.run(task());
    expect(bench.casts).toEqual([]);
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });
});

describe("6.4 seed 003: a resize on one host, where the sum is over max_unit", () => {
  const SIX: Flavor = { ...FLAVOR, id: 6, flavorid: "6", name: "six", vcpus: 6 };
  const EIGHT: Flavor = { ...FLAVOR, id: 8, flavorid: "8", name: "eight", vcpus: 8 };

  async function resize(version: number): Promise<void> {
    bench = await ConductorBench.open();
    await bench.host("devstack1", { version, vcpus: 10, cpuRatio: 16 });
    instance = await bench.server("devstack1");
    const [node] = bench.store.computeNodes.byHost("devstack1");
    const { projectId, userId } = instance;
    const request = { allocations: { [node?.uuid ?? ""]: { resources: { ...NEED, VCPU: 6 } } } };
    const claim = { consumer: instance.uuid, projectId, userId, version: "1.36", held: "replace" } as const;
    expect(await bench.placement.claimResources({ ...claim, request })).toBe(true);
    bench.store.instances.save(instance.uuid, { flavor: SIX, instanceTypeId: 6, vcpus: 6 });
    prepare();
    await bench.run(task({ flavor: EIGHT }));
  }

  it("fails with doubled: one record of 14", async () => {
    await resize(PIKE);
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual({ instance: { devstack1: { ...NEED, VCPU: 6 } }, migration: {} });
  });

  it("works with split: records of 6 and of 8", async () => {
    await resize(30);
    expect(state()).toMatchObject({ taskState: "resize_prep", status: "pre-migrating" });
    expect(await held()).toEqual({
      instance: { devstack1: { ...NEED, VCPU: 8 } },
      migration: { devstack1: { ...NEED, VCPU: 6 } },
    });
  });

  it("doubled sums both on one host where the sum fits, and takes its part off again", async () => {
    await open({ version: PIKE, hosts: ["devstack1"] });
    await bench.run(task({ flavor: SMALL }));
    const both = { VCPU: 2, MEMORY_MB: 2560, DISK_GB: 21 };
    expect(await held()).toEqual({ instance: { devstack1: both }, migration: {} });
    await bench.run(task({ flavor: SMALL, migrationId: onlyMigration().id, alternates: [] }));
    expect(await held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
  });
});

describe("a conductor that was killed anywhere", () => {
  it.each([
    { on: "POST /allocations", does: "hang" },
    { on: "POST /allocations", does: "hang-after" },
    { on: "PUT /allocations/", does: "hang" },
    { on: "PUT /allocations/", does: "hang-after" },
  ] as const)("goes on from the start: $on $does", async ({ on, does }) => {
    for (const version of [PIKE, 73]) {
      await open({ version });
      bench.placementBench.inject({ on, does });
      bench.store.tasks.add(task());
      void bench.run();
      for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
      bench.placementBench.heal();
      if (bench.casts.length === 0) await bench.restart();
      expect(bench.casts.map(({ method }) => method)).toEqual(["prep_resize"]);
      expect(migrations()).toHaveLength(1);
      expect(await held()).toEqual(
        version === PIKE
          ? { instance: { devstack1: NEED, devstack2: NEED }, migration: {} }
          : { instance: { devstack2: NEED }, migration: { devstack1: NEED } },
      );
    }
  });
});

describe("bug 1848343: the instance is deleted while its allocations are given back", () => {
  it.each([
    [false, {}],
    [true, { devstack1: NEED }],
  ])("with quirk resurrect-deleted-allocations %s", async (quirk, left) => {
    await open();
    if (quirk) bench.quirks.add("resurrect-deleted-allocations");
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    let moves = 0;
    bench.placementBench.inject({
      on: "POST /allocations",
      times: 2,
      does: () => {
        moves += 1;
        if (moves === 2) bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
      },
    });
    await bench.run(task());
    expect(moves).toBe(2);
    expect(await bench.held(instance.uuid)).toEqual(left);
  });
});

describe("the instance is deleted meanwhile", () => {
  it("keeps nothing of instance or migration", async () => {
    await open();
    bench.placementBench.inject({
      on: `PUT /allocations/${instance.uuid}`,
      does: () => {
        bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
        bench.store.instances.destroy(instance.uuid);
      },
    });
    await bench.run(task());
    const [migration] = bench.store.migrations.byFilters({ instanceUuid: instance.uuid, readDeleted: true });
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(await bench.held(migration?.uuid ?? "")).toEqual({});
    expect(bench.casts).toEqual([]);
  });
});
