import { describe, expect, it } from "vitest";
import type { DestinationFailure, Instance, Selection } from "../../../../../src/records/index.js";
import { type ConductorBench, FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  MigrateBench,
  type MigrateTask,
  UNCHANGED,
} from "../../../../unit/control-plane/conductor/tasks/migrate-bench.js";

let migrate: MigrateBench;
let bench: ConductorBench;
let instance: Instance;

async function open(options?: Parameters<typeof MigrateBench.open>[0]): Promise<void> {
  migrate = await MigrateBench.open(options);
  ({ bench, instance } = migrate);
}

describe("6.3 row 4: reschedules", () => {
  /** A failure on devstack2, whose event is unfinished. */
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
    await bench.run(migrate.task());
    const params = bench.casts[0]?.params as { readonly alternates: Selection[]; readonly retry: MigrateTask["retry"] };
    const [migration] = migrate.migrations();
    if (migration === undefined || params.retry === undefined) {
      throw new Error("nothing was cast");
    }
    // The destination could not prepare the move: it moves the allocations back and reports the failure.
    await bench.placement.moveAllocations(migration.uuid, instance.uuid);
    return params.alternates;
  };

  it("uses the same migration and claims the alternate", async () => {
    const left = await alternates();
    const [first] = bench.casts;
    const migration = migrate.onlyMigration();
    const retry = { numAttempts: 1, hosts: [[first?.host ?? "", first?.host ?? ""] as const] };
    await bench.run(migrate.task({ migrationId: migration.id, alternates: left, retry, failure: failure() }));
    expect(migrate.onlyMigration()).toMatchObject({ id: migration.id, status: "pre-migrating" });
    expect(prepEvent()).toMatchObject({ result: "Success", traceback: null });
    expect(bench.store.instances.fault(instance.uuid)).toMatchObject({ message: "no room", host: "devstack2" });
    const [, second] = bench.casts;
    expect(second?.host).toBe(left[0]?.host);
    expect(second?.params).toMatchObject({ alternates: [], retry: { numAttempts: 2 } });
    expect(await migrate.held()).toEqual({ instance: { [second?.host ?? ""]: NEED }, migration: { devstack1: NEED } });
  });

  const noneLeft = async (more: Partial<DestinationFailure> = {}): Promise<void> => {
    await alternates();
    const retry = { numAttempts: 1, hosts: [] };
    bench.store.instances.save(instance.uuid, { newFlavor: FLAVOR });
    await bench.run(
      migrate.task({ migrationId: migrate.onlyMigration().id, alternates: [], retry, failure: failure(more) }),
    );
  };

  it("ends in error without an alternate, with the destination's error as the fault", async () => {
    await noneLeft();
    expect(migrate.state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(bench.instance(instance.uuid).newFlavor).toBeNull();
    expect(await migrate.held()).toEqual({ instance: { devstack1: NEED }, migration: {} });
    expect(bench.store.instances.fault(instance.uuid)).toMatchObject({ message: "no room", host: "devstack2" });
    const [node] = bench.store.computeNodes.byHost("devstack2");
    expect(migrate.onlyMigration()).toMatchObject({
      destCompute: "devstack2",
      destNode: "devstack2",
      destComputeId: node?.id,
      destHost: node?.hostIp,
    });
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

  it("keeps the vm_state if the destination's driver reports that nothing happened", async () => {
    await noneLeft({ rollback: true });
    expect(migrate.state()).toEqual(UNCHANGED);
    expect(prepEvent()?.result).toBe("Error");
  });

  it("ends in error if an unexpected error occurs", async () => {
    await alternates();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const retry = { numAttempts: 1, hosts: [] };
    await bench.run(
      migrate.task({ migrationId: migrate.onlyMigration().id, alternates: [], retry, failure: failure() }),
    );
    expect(migrate.state()).toMatchObject({ vmState: "error", taskState: null, status: "error" });
    expect(prepEvent()?.result).toBe("Error");
  });

  it("does not change an instance that another operation owns", async () => {
    await alternates();
    const does = () => {
      const taken = { taskState: "deleting", taskRequestId: "req-delete", newFlavor: FLAVOR } as const;
      bench.store.instances.save(instance.uuid, taken);
      return Promise.reject(new TypeError("unforeseen"));
    };
    bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const retry = { numAttempts: 1, hosts: [] };
    await bench.run(
      migrate.task({ migrationId: migrate.onlyMigration().id, alternates: [], retry, failure: failure() }),
    );
    expect(migrate.state()).toMatchObject({ vmState: "active", taskState: "deleting", status: "error" });
    expect(bench.instance(instance.uuid).newFlavor).toEqual(FLAVOR);
    expect(prepEvent()?.result).toBe("Error");
  });

  it("does not change an instance whose evacuation has ended the move", async () => {
    const left = await alternates();
    const { id: migrationId } = migrate.onlyMigration();
    bench.store.migrations.save(migrationId, { status: "error", destCompute: null });
    const evacuation = bench.store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "evacuation",
      status: "accepted",
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack3" },
    });
    bench.store.instances.save(instance.uuid, { taskState: "rebuilding", taskRequestId: "req-evacuate" });
    const { projectId, userId } = instance;
    const [there] = bench.store.computeNodes.byHost("devstack3");
    const request = { allocations: { [there?.uuid ?? ""]: { resources: NEED } } };
    const claim = { consumer: instance.uuid, projectId, userId, request, version: "1.36", held: "double" } as const;
    await bench.placement.claimResources(claim);
    const retry = { numAttempts: 1, hosts: [] };
    const casts = bench.casts.length;
    await bench.run(migrate.task({ migrationId, alternates: left, retry, failure: failure() }));
    expect(migrate.migrations().map(({ id, status }) => [id, status])).toEqual([
      [migrationId, "error"],
      [evacuation.id, "accepted"],
    ]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack3: NEED });
    expect(bench.casts).toHaveLength(casts);
    expect(prepEvent()?.result).toBe("Error");
  });

  it("ends the destination's event if the instance was deleted", async () => {
    await alternates();
    const event = failure();
    const { id: migrationId } = migrate.onlyMigration();
    bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
    bench.store.instances.destroy(instance.uuid);
    await bench.run(
      migrate.task({ migrationId, alternates: [], retry: { numAttempts: 1, hosts: [] }, failure: event }),
    );
    expect(prepEvent()?.result).toBe("Error");
  });
});

describe("bug 1848343: the instance is deleted while its allocations are moved back", () => {
  it.each([
    [false, {}],
    [true, { devstack1: NEED }],
  ])("with quirk resurrect-deleted-allocations %s", async (quirk, left) => {
    await open();
    if (quirk) {
      bench.quirks.add("resurrect-deleted-allocations");
    }
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    let moves = 0;
    bench.placementBench.inject({
      on: "POST /allocations",
      times: 2,
      does: () => {
        moves += 1;
        if (moves === 2) {
          bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
        }
      },
    });
    await bench.run(migrate.task());
    expect(moves).toBe(2);
    expect(await bench.held(instance.uuid)).toEqual(left);
  });
});
