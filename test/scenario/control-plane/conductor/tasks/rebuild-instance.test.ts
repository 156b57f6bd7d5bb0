import { beforeEach, describe, expect, it } from "vitest";
import { type Instance, type Migration, markInterruptedRebuild } from "../../../../../src/records/index.js";
import { ConductorBench, FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

const CONSUMER_CONFLICT = errorResponse(
  409,
  "placement.concurrent_update",
  "consumer generation conflict - expected 1 but got 2",
);
const FULL = errorResponse(409, "placement.undefined_code", "Unable to allocate inventory");

describe("6.7 evacuate", () => {
  let bench: ConductorBench;
  let instance: Instance;
  let migration: Migration;

  beforeEach(async () => {
    bench = await ConductorBench.open();
    await bench.host("devstack1");
    await bench.host("devstack2");
    instance = await bench.server("devstack1");
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
    prepare();
  });

  function prepare(host: string | null = null): void {
    bench.store.instances.save(instance.uuid, { taskState: "rebuilding" });
    bench.store.actions.start({
      action: "evacuate",
      instanceUuid: instance.uuid,
      requestId: "req-evacuate",
      userId: "user",
      projectId: "project",
    });
    migration = bench.store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "evacuation",
      status: "accepted",
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: host },
    });
  }

  const evacuate = (options: { readonly host?: string; readonly forced?: boolean } = {}) =>
    bench.run({
      kind: "rebuild_instance",
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      requestId: "req-evacuate",
      host: options.host ?? null,
      forced: options.forced ?? false,
      onSharedStorage: null,
      targetStopped: true,
    });
  const state = async () => {
    const { vmState, taskState, host } = bench.instance(instance.uuid);
    const status = bench.store.migrations.get(migration.id)?.status;
    return { vmState, taskState, host, status, held: Object.keys(await bench.held(instance.uuid)).sort() };
  };
  const events = () =>
    bench.store.actions
      .list(instance.uuid)
      .flatMap(({ id }) => bench.store.actions.events(id))
      .map(({ event, result }) => [event, result]);
  const ON_BOTH = ["devstack1", "devstack2"];

  it("row 2a: ignores S, the claim doubles, the destination gets the message", async () => {
    await evacuate();
    expect(await state()).toEqual({
      vmState: "active",
      taskState: "rebuilding",
      host: "devstack1",
      status: "accepted",
      held: ON_BOTH,
    });
    expect(bench.casts).toEqual([
      {
        host: "devstack2",
        method: "rebuild_instance",
        params: {
          instanceUuid: instance.uuid,
          migrationId: migration.id,
          onSharedStorage: null,
          recreate: true,
          node: "devstack2",
          imageRef: instance.imageRef,
          targetStopped: true,
          requestId: "req-evacuate",
        },
      },
    ]);
    expect(events()).toEqual([["rebuild_server", "Success"]]);
    expect(bench.store.migrations.get(migration.id)?.destCompute, "spec V31: its next start finds it").toBe(
      "devstack2",
    );
  });

  it("row 2a: S is no destination, even if it is up again and the only host", async () => {
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: false });
    bench.store.services.update(bench.service("devstack2").id, { forcedDown: true });
    await evacuate();
    expect(await state()).toMatchObject({ status: "error", vmState: "error", held: ["devstack1"] });
    expect(bench.casts).toEqual([]);
  });

  it.each(["pre-migrating", "error"] as const)(
    "takes the source allocations back from a superseded move in %s, even if its agent acts later",
    async (status) => {
      const move = bench.store.migrations.create({
        instanceUuid: instance.uuid,
        migrationType: "resize",
        status,
        changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
      });
      await bench.placement.moveAllocations(instance.uuid, move.uuid);
      bench.store.instances.save(instance.uuid, { newFlavor: FLAVOR });
      await evacuate();
      expect(await state()).toMatchObject({ taskState: "rebuilding", status: "accepted", held: ON_BOTH });
      expect(await bench.held(move.uuid)).toEqual({});
      expect(bench.store.migrations.get(move.id)?.status).toBe("error");
      expect(bench.instance(instance.uuid).newFlavor).toBeNull();
    },
  );

  it("retries if the move's agent returns the same allocations concurrently", async () => {
    const move = bench.store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "resize",
      status: "pre-migrating",
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
    });
    await bench.placement.moveAllocations(instance.uuid, move.uuid);
    bench.placementBench.inject({ on: "POST /allocations", does: CONSUMER_CONFLICT, times: 1 });
    await evacuate();
    expect(await state()).toMatchObject({ taskState: "rebuilding", status: "accepted", held: ON_BOTH });
  });

  it("row 2a, requested host: only that one is considered", async () => {
    const third = await bench.host("devstack3");
    await evacuate({ host: "devstack3" });
    expect(bench.casts).toMatchObject([{ host: "devstack3" }]);
    expect(bench.placementBench.requests()[0]).toContain(`in_tree=${third}`);
  });

  it("row 2a, NoValidHost: status error, vm error, the source's allocation stays", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await evacuate();
    expect(await state()).toEqual({
      vmState: "error",
      taskState: null,
      host: "devstack1",
      status: "error",
      held: ["devstack1"],
    });
    expect(bench.store.instances.fault(instance.uuid)?.details).toContain("1 is disabled");
    expect(events()).toEqual([["rebuild_server", "Error"]]);
    expect(bench.casts).toEqual([]);
  });

  it("row 2a, consumer conflict: status error, vm error", async () => {
    bench.placementBench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
    await evacuate();
    expect(await state()).toMatchObject({ vmState: "error", taskState: null, status: "error", held: ["devstack1"] });
  });

  it("row 2a, Placement unreachable after the claim: status error, vm error, the claim is removed", async () => {
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose", times: 2 });
    await evacuate();
    expect(await state()).toMatchObject({ vmState: "error", status: "error", held: ["devstack1"] });
  });

  it("9.4 the response to the claim is lost after the commit: claimed again completely, two providers, one cast", async () => {
    await bench.host("devstack3");
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose" });
    await evacuate();
    expect(bench.casts).toHaveLength(1);
    expect((await state()).held).toEqual(["devstack1", bench.casts[0]?.host]);
  });

  it("row 2b, forced: the amounts of the one source provider are copied, without candidates and filters", async () => {
    bench.store.services.update(bench.service("devstack2").id, { disabled: true });
    await evacuate({ host: "devstack2", forced: true });
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack2: NEED });
    expect(bench.placementBench.requests().some((request) => request.includes("candidates"))).toBe(false);
    expect(bench.casts).toMatchObject([{ host: "devstack2", params: { node: "devstack2" } }]);
  });

  it("row 2b, no capacity, and complex allocations: NoValidHost, status error, vm unchanged", async () => {
    bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
    await evacuate({ host: "devstack2", forced: true });
    expect(await state()).toMatchObject({ vmState: "active", taskState: null, status: "error", held: ["devstack1"] });

    prepare();
    await bench.host("devstack3");
    const [source = ""] = Object.keys((await bench.placement.getAllocationsForConsumer(instance.uuid)).allocations);
    await bench.placement.addResources(instance.uuid, {
      [bench.store.computeNodes.byHost("devstack3")[0]?.uuid ?? source]: { resources: { VCPU: 1 } },
    });
    await evacuate({ host: "devstack2", forced: true });
    expect(await state()).toMatchObject({ vmState: "active", taskState: null, status: "error" });
    expect(bench.store.instances.fault(instance.uuid)?.message).toContain("complex allocations");
  });

  it("row 2b, OPT no capacity for a server whose rebuild was interrupted: vm error", async () => {
    bench.store.instances.save(instance.uuid, markInterruptedRebuild(instance, "req-evacuate"));
    bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
    await evacuate({ host: "devstack2", forced: true });
    expect(await state()).toMatchObject({ vmState: "error", taskState: null, status: "error", held: ["devstack1"] });
  });

  it("row 2b, consumer conflict: status error, vm error", async () => {
    bench.placementBench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
    await evacuate({ host: "devstack2", forced: true });
    expect(await state()).toMatchObject({ vmState: "error", taskState: null, status: "error" });
  });

  describe("row 2b, GAP", () => {
    const missing: Readonly<Record<string, () => Promise<unknown> | unknown>> = {
      "no compute node on D": () => {
        const [node] = bench.store.computeNodes.byHost("devstack2");
        return node && bench.store.computeNodes.destroy(node.id, "devstack2");
      },
      "no compute node on S": () => {
        const [node] = bench.store.computeNodes.byHost("devstack1");
        return node && bench.store.computeNodes.destroy(node.id, "devstack1");
      },
      "no allocations": () => bench.placement.deleteAllocation(instance.uuid, { force: true }),
    };
    for (const [what, happens] of Object.entries(missing)) {
      it(`${what}: OPT status error, task null, vm unchanged`, async () => {
        await happens();
        await evacuate({ host: "devstack2", forced: true });
        expect(await state()).toMatchObject({ vmState: "active", taskState: null, status: "error" });
        expect(events()).toEqual([["rebuild_server", "Error"]]);
      });

      it(`${what}: quirk forget-failed-forced-evacuation leaves accepted and rebuilding`, async () => {
        bench.quirks.add("forget-failed-forced-evacuation");
        await happens();
        await evacuate({ host: "devstack2", forced: true });
        expect(await state()).toMatchObject({ vmState: "active", taskState: "rebuilding", status: "accepted" });
        expect(bench.store.tasks.pending()).toEqual([]);
      });
    }
  });

  it("GAP: only the evacuation's own migration is used; quirk any-accepted-migration-for-evacuation uses the first accepted one", async () => {
    const other = bench.store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "live-migration",
      status: "accepted",
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1" },
    });
    await evacuate();
    expect(bench.casts[0]?.params).toMatchObject({ migrationId: migration.id });
    bench.quirks.add("any-accepted-migration-for-evacuation");
    const first = bench.store.migrations.byFilters({ instanceUuid: instance.uuid, statuses: ["accepted"] })[0];
    await evacuate();
    expect(bench.casts[1]?.params).toMatchObject({ migrationId: first?.id });
    expect([migration.id, other.id]).toContain(first?.id);
  });

  it("conductor killed after the claim: the next run removes that claim first; other evacuations' records stay", async () => {
    await bench.host("devstack3");
    await bench.host("devstack0");
    bench.store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "evacuation",
      status: "done",
      changes: { sourceCompute: "devstack0", sourceNode: "devstack0", destCompute: "devstack1" },
    });
    const nodeOf = (host: string) => bench.store.computeNodes.byHost(host)[0]?.uuid ?? "";
    await bench.placement.addResources(instance.uuid, {
      [nodeOf("devstack0")]: { resources: NEED },
      [nodeOf("devstack3")]: { resources: NEED },
    });
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    bench.store.tasks.add({
      kind: "rebuild_instance",
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      requestId: "req-evacuate",
      host: null,
      forced: false,
      onSharedStorage: null,
      targetStopped: false,
    });
    bench.store.services.update(bench.service("devstack0").id, { forcedDown: true });
    await bench.restart();
    expect(bench.casts).toMatchObject([{ host: "devstack2" }]);
    expect((await state()).held).toEqual(["devstack0", "devstack1", "devstack2"]);
  });

  it("deleted during the claim of the destination: all its allocations are deleted by force", async () => {
    bench.placementBench.inject({
      on: "PUT /allocations",
      does: () => {
        bench.store.instances.destroy(instance.uuid);
      },
    });
    await evacuate();
    expect(bench.casts).toEqual([]);
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("an unexpected error: status error, vm error with a fault, and no stuck rebuild", async () => {
    bench.placementBench.inject({
      on: "GET /allocations",
      does: errorResponse(500, "", "database is locked"),
      times: 2,
    });
    await evacuate();
    expect(await state()).toMatchObject({ vmState: "error", taskState: null, status: "error" });
    expect(bench.store.instances.fault(instance.uuid)?.message).toContain("database is locked");
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  describe("another request owns the instance", () => {
    const acknowledge = () => {
      bench.store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: "req-delete" });
    };
    const overwrite = () => {
      bench.store.instances.save(instance.uuid, { taskState: "rebuilding", taskRequestId: "req-evacuate" });
    };
    /** Expects that a restarted conductor completes the deletion. */
    const isDeleted = async () => {
      await bench.restart();
      expect(bench.casts).toEqual([]);
      expect(bench.store.instances.get(instance.uuid)).toBeNull();
      expect(bench.store.migrations.get(migration.id)?.status).toBe("error");
      expect(await bench.held(instance.uuid)).toEqual({});
      expect(bench.store.tasks.pending()).toEqual([]);
    };

    it("a delete acknowledged before: deleted locally, and nothing is evacuated", async () => {
      acknowledge();
      overwrite();
      await evacuate();
      await isDeleted();
    });

    it("the same if the conductor is killed before or after the claim", async () => {
      acknowledge();
      overwrite();
      const claimed = bench.store.computeNodes.byHost("devstack2")[0]?.uuid ?? "";
      await bench.placement.addResources(instance.uuid, { [claimed]: { resources: NEED } });
      const { uuid: instanceUuid } = instance;
      const task = { instanceUuid, migrationId: migration.id, requestId: "req-evacuate", host: null, forced: false };
      bench.store.tasks.add({ kind: "rebuild_instance", ...task, onSharedStorage: null, targetStopped: false });
      await bench.restart();
      await isDeleted();
    });

    it("a delete during the claim: the claim is deleted with the rest", async () => {
      bench.placementBench.inject({
        on: "PUT /allocations",
        does: () => {
          acknowledge();
          bench.store.tasks.add({ kind: "delete_local", instanceUuid: instance.uuid, requestId: "req-delete" });
        },
      });
      await evacuate();
      await isDeleted();
    });

    it("a later evacuation: this one ends and removes its claim", async () => {
      bench.placementBench.inject({
        on: "PUT /allocations",
        does: () => {
          bench.store.instances.save(instance.uuid, { taskState: "rebuilding", taskRequestId: "req-later" });
        },
      });
      await evacuate();
      expect(bench.casts).toEqual([]);
      expect(await state()).toMatchObject({ taskState: "rebuilding", status: "error", held: ["devstack1"] });
    });
  });
});
