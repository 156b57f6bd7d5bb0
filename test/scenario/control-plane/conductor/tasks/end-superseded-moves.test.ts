import { describe, expect, it } from "vitest";
import { flavorColumns, type InstanceChanges, type Migration } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  forgetNode,
  holds,
  migrationOf,
  type Operated,
  operated,
  PIKE,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { CONSUMER_CONFLICT } from "../../../../unit/placement-client/bench.js";

const SMALL = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };
/** Id of a third flavor. */
const LARGE = 3;

/**
 * Creates a move from devstack1 to devstack2 whose server is evacuated to devstack3. Before it has arrived the server
 * is on devstack1, which is the dead host, and afterwards on devstack2.
 */
async function createSupersededMove(
  type: Migration["migrationType"],
  status: Migration["status"],
  options: { readonly arrived?: boolean; readonly version?: number; readonly changes?: InstanceChanges } = {},
): Promise<
  Operated & {
    readonly move: Migration;
    readonly evacuation: Migration;
    readonly steps: () => ReturnType<typeof stepsOf>;
  }
> {
  const { arrived = false, version = 73, changes } = options;
  const hosts = ["devstack1", "devstack2", "devstack3"];
  const world = await operated("rebuilding", { hosts, version });
  const { bench, instance, head } = world;
  const move = migrationOf(world, type, status, { destCompute: "devstack2", destNode: "devstack2", destComputeId: 2 });
  const evacuation = migrationOf(world, "evacuation", "accepted");
  if (version === PIKE) {
    await holds(world, instance.uuid, "devstack1", "devstack2");
  } else {
    await holds(world, move.uuid, "devstack1");
    await holds(world, instance.uuid, "devstack2");
  }
  const there = arrived ? { host: "devstack2", node: "devstack2", computeId: 2 } : {};
  bench.store.instances.save(instance.uuid, {
    ...there,
    systemMetadata: { retained: "yes", old_vm_state: "stopped", resize_disk_info: "raw" },
    ...changes,
  });
  bench.store.services.update(bench.service(arrived ? "devstack2" : "devstack1").id, { forcedDown: true });
  bench.store.services.update(bench.service(arrived ? "devstack1" : "devstack2").id, { disabled: true });
  const task = { kind: "rebuild_instance", ...head, migrationId: evacuation.id, host: "devstack3" } as const;
  const options_ = { forced: false, onSharedStorage: null, targetStopped: false };
  return { ...world, move, evacuation, steps: () => stepsOf(bench, { ...task, ...options_ }) };
}

/** Returns the messages to the hosts of the move, without the one to the evacuation's destination. */
const cleanUps = ({ bench }: Operated) => bench.casts.filter(({ method }) => method !== "rebuild_instance");

const ASIDE = { retained: "yes", old_vm_state: "stopped", set_aside_by: "1" };
const PLAIN = { retained: "yes" };

describe("6.7: a move superseded by an evacuation", () => {
  it("not arrived: the source allocations return to the instance before the destination is claimed", async () => {
    const { steps } = await createSupersededMove("migration", "pre-migrating", { changes: { newFlavor: FLAVOR } });
    const lines = await steps();
    expect(getExternalCalls(lines)).toEqual([
      "GET /allocations/M1",
      "GET /allocations/M1",
      "GET /allocations/I",
      "POST /allocations",
      "GET /allocation_candidates",
      "GET /allocations/I",
      "PUT /allocations/I",
      "cast rebuild_instance of devstack3",
    ]);
    expect(lines).toContainEqual(["POST /allocations", { M1: {}, I: { devstack1: NEED } }]);
    expect(outcome(lines)).toEqual({
      instance: { newFlavor: null, systemMetadata: PLAIN },
      "migration M1": { status: "error" },
      "migration M2": { destCompute: "devstack3" },
      events: ["rebuild_server on conductor: Success"],
    });
  });

  it("arrived: the source allocations are deleted by force, and the instance keeps those on the destination", async () => {
    const { steps, bench, instance } = await createSupersededMove("resize", "finished", { arrived: true });
    const lines = await steps();
    expect(getExternalCalls(lines).slice(0, 2)).toEqual(["DELETE /allocations/M1", "GET /allocation_candidates"]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack2: NEED, devstack3: NEED });
  });

  it.each<[Migration["migrationType"], Migration["status"], boolean, object, object | null]>([
    // The guest is still defined on the source, which has not set it aside yet.
    ["migration", "pre-migrating", false, PLAIN, null],
    // The guest that the source has set aside may be the only copy of its disks.
    ["migration", "migrating", false, ASIDE, null],
    ["resize", "post-migrating", false, ASIDE, null],
    ["resize", "post-migrating", true, { ...ASIDE, resize_disk_info: "raw" }, null],
    // The destination has finished. A later evacuation to the source finds the guest there and removes it.
    ["migration", "finished", true, ASIDE, null],
    ["resize", "confirming", true, ASIDE, null],
    ["resize", "reverting", true, ASIDE, null],
    // The destination has prepared for a guest that does not arrive.
    [
      "live-migration",
      "accepted",
      false,
      PLAIN,
      { host: "devstack2", method: "rollback_live_migration_at_destination" },
    ],
    [
      "live-migration",
      "preparing",
      false,
      PLAIN,
      { host: "devstack2", method: "rollback_live_migration_at_destination" },
    ],
    // The guest may be on either host.
    ["live-migration", "running", false, { retained: "yes", set_aside_by: "1" }, null],
    ["live-migration", "running (post-copy)", false, { retained: "yes", set_aside_by: "1" }, null],
    ["live-migration", "running", true, PLAIN, null],
  ])("%s in %s, arrived %s", async (type, status, arrived, systemMetadata, expectedCast) => {
    const world = await createSupersededMove(type, status, { arrived });
    const lines = await world.steps();
    expect(world.bench.instance(world.instance.uuid).systemMetadata).toEqual(systemMetadata);
    expect(world.bench.store.migrations.get(world.move.id)?.status).toBe("error");
    const params =
      expectedCast !== null && "host" in expectedCast && expectedCast.host === "devstack2"
        ? { destroyDisks: false, data: { sharedInstanceFiles: true } }
        : {};
    const message = { instanceUuid: world.instance.uuid, migrationId: world.move.id, requestId: REQUEST, ...params };
    expect(cleanUps(world)).toEqual(expectedCast === null ? [] : [{ ...expectedCast, params: message }]);
    expect(lines).toContainEqual(["migration M1", { status: "error" }]);
  });

  it("without a record, the guest's state before the move is its current vm_state", async () => {
    const changes = { systemMetadata: {}, vmState: "paused" } as const;
    const world = await createSupersededMove("resize", "post-migrating", { arrived: true, changes });
    await world.steps();
    expect(world.bench.instance(world.instance.uuid).systemMetadata).toEqual({
      old_vm_state: "paused",
      resize_disk_info: "",
      set_aside_by: "1",
    });
  });

  it.each([
    ["has arrived", true, "finished", { oldFlavor: FLAVOR, newFlavor: SMALL }, SMALL],
    ["has not", false, "post-migrating", { oldFlavor: FLAVOR, newFlavor: SMALL }, FLAVOR],
    [
      "is finished on its own host",
      false,
      "post-migrating",
      { ...flavorColumns(SMALL), oldFlavor: FLAVOR, newFlavor: SMALL, taskState: "rebuilding" },
      FLAVOR,
    ],
  ] as const)("a resize that %s ends with the flavor of its location, also in the request spec", async (...row) => {
    const [, arrived, status, changes, flavor] = row;
    const world = await createSupersededMove("resize", status, { arrived, changes });
    const { bench, instance } = world;
    const spec = bench.store.requests.spec(instance.uuid) ?? expect.fail("no spec");
    bench.store.requests.saveSpec({ ...spec, flavor: SMALL });
    await world.steps();
    const amounts = { instanceTypeId: flavor.id, memoryMb: flavor.memoryMb, rootGb: flavor.rootGb };
    expect(bench.instance(instance.uuid)).toMatchObject({ flavor, ...amounts, oldFlavor: null, newFlavor: null });
    expect(bench.store.requests.spec(instance.uuid)?.flavor).toEqual(flavor);
    const need = { VCPU: 1, MEMORY_MB: flavor.memoryMb, DISK_GB: flavor.rootGb };
    expect((await bench.held(instance.uuid)).devstack3).toEqual(need);
  });

  it.each([
    ["a live migration that failed", "live-migration", "error"],
    ["a live migration that has not arrived", "live-migration", "preparing"],
    ["another resize that has not arrived", "resize", "pre-migrating"],
  ] as const)("%s does not apply flavors that an earlier revert left", async (_, type, status) => {
    const changes = { ...flavorColumns(SMALL), oldFlavor: FLAVOR, newFlavor: SMALL };
    const { bench, instance, steps, move } = await createSupersededMove(type, status, { changes });
    await bench.placement.deleteAllocation(move.uuid, { force: true });
    bench.store.database.run(
      "UPDATE migrations SET old_instance_type_id = ?, new_instance_type_id = ? WHERE id = ?",
      SMALL.id,
      type === "resize" ? LARGE : SMALL.id,
      move.id,
    );
    await steps();
    expect(bench.instance(instance.uuid)).toMatchObject({ flavor: SMALL, memoryMb: SMALL.memoryMb });
  });

  it("the move is ended without a request spec", async () => {
    const world = await createSupersededMove("migration", "pre-migrating");
    world.bench.store.database.run("DELETE FROM request_specs");
    expect(outcome(await world.steps())).toMatchObject({ "migration M1": { status: "error" } });
  });

  it("the migration context is removed with the move", async () => {
    const context = {
      instanceUuid: "",
      migrationId: 99,
      oldNumaTopology: null,
      newNumaTopology: null,
      oldPciDevices: [],
      newPciDevices: [],
      oldResources: [],
      newResources: [],
    };
    const world = await createSupersededMove("migration", "migrating");
    const { bench, instance } = world;
    bench.store.instances.save(instance.uuid, { migrationContext: { ...context, instanceUuid: instance.uuid } });
    await world.steps();
    expect(bench.instance(instance.uuid).migrationContext).toBeNull();
  });

  it("doubled, arrived: the source's part is subtracted from the instance's allocations", async () => {
    const { steps, bench, instance } = await createSupersededMove("migration", "finished", {
      arrived: true,
      version: PIKE,
    });
    const lines = await steps();
    expect(getExternalCalls(lines).slice(0, 5)).toEqual([
      "DELETE /allocations/M1 -> 404",
      "GET /allocations/I",
      "GET /allocations/I",
      "GET /resource_providers",
      "PUT /allocations/I",
    ]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack2: NEED, devstack3: NEED });
  });

  it("doubled, arrived: the source's part or its node may be missing", async () => {
    const world = await createSupersededMove("migration", "finished", { arrived: true, version: PIKE });
    await holds(world, world.instance.uuid, "devstack2");
    expect(getExternalCalls(await world.steps()).slice(0, 3)).toEqual([
      "DELETE /allocations/M1 -> 404",
      "GET /allocations/I",
      "GET /allocation_candidates",
    ]);
    const other = await createSupersededMove("migration", "finished", { arrived: true, version: PIKE });
    forgetNode(other, "devstack1");
    expect(getExternalCalls(await other.steps()).slice(0, 2)).toEqual([
      "DELETE /allocations/M1 -> 404",
      "GET /allocation_candidates",
    ]);
  });

  it("doubled, not arrived: the destination's part is subtracted", async () => {
    const { steps, bench, instance } = await createSupersededMove("migration", "pre-migrating", { version: PIKE });
    await steps();
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack3: NEED });
  });

  it("doubled, not arrived, same destination as the evacuation: the move's claim there is removed first", async () => {
    const { steps, bench, instance, move, evacuation } = await createSupersededMove("resize", "pre-migrating", {
      version: PIKE,
    });
    const there = { destCompute: "devstack3", destNode: "devstack3", destComputeId: 3 };
    bench.store.migrations.save(move.id, there);
    bench.store.migrations.save(evacuation.id, { destCompute: "devstack3" });
    const [source, destination] = ["devstack1", "devstack3"].map(
      (host) => bench.store.computeNodes.byHost(host)[0]?.uuid,
    );
    const resources = { VCPU: 2, MEMORY_MB: 2048, DISK_GB: 20 };
    const allocations = { [String(source)]: { resources: NEED }, [String(destination)]: { resources } };
    const claim = { consumer: instance.uuid, projectId: "project", userId: "user", version: "1.36" };
    await bench.placement.claimResources({ ...claim, request: { allocations }, held: "replace" });
    await steps();
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack3: NEED });
  });

  it("a conflict with the move's agent is retried twice, then the instance is in error", async () => {
    for (const times of [2, 3]) {
      const world = await createSupersededMove("migration", "pre-migrating");
      world.bench.placementBench.inject({ on: "POST /allocations", does: CONSUMER_CONFLICT, times });
      const lines = await world.steps();
      expect(getExternalCalls(lines).filter((line) => line.startsWith("POST"))).toHaveLength(3);
      if (times === 2) {
        expect(outcome(lines)).toMatchObject({ "migration M2": { destCompute: "devstack3" } });
      } else {
        expect(outcome(lines)).toMatchObject({
          instance: { vmState: "error", taskState: null },
          "migration M2": { status: "error" },
          fault: {
            message:
              "Failed to move allocations from consumer M1 to consumer I. Error: Placement rejected the change; evacuate the server again",
          },
        });
      }
    }
  });
});

describe("6.7: a move that its own agent has ended", () => {
  it("in error with allocations: they return to the instance, and no host gets a message", async () => {
    const world = await createSupersededMove("resize", "error");
    const lines = await world.steps();
    expect(lines).toContainEqual(["POST /allocations", { M1: {}, I: { devstack1: NEED } }]);
    expect(cleanUps(world)).toEqual([]);
  });

  it("in error without allocations, with a new flavor: the move is ended", async () => {
    const world = await createSupersededMove("resize", "error", { changes: { newFlavor: SMALL } });
    await holds(world, world.instance.uuid, "devstack1");
    await world.bench.placement.deleteAllocation(world.move.uuid, { force: true });
    await world.steps();
    expect(world.bench.instance(world.instance.uuid)).toMatchObject({ newFlavor: null, systemMetadata: ASIDE });
  });

  it("in error and complete: nothing changes", async () => {
    const world = await createSupersededMove("resize", "error");
    await holds(world, world.instance.uuid, "devstack1");
    await world.bench.placement.deleteAllocation(world.move.uuid, { force: true });
    expect(outcome(await world.steps())).toEqual({
      "migration M2": { destCompute: "devstack3" },
      events: ["rebuild_server on conductor: Success"],
    });
  });

  it("in error and live: the destination gets no second message to clean up", async () => {
    const world = await createSupersededMove("live-migration", "error");
    await world.steps();
    expect(world.bench.store.migrations.get(world.move.id)?.status).toBe("error");
    expect(cleanUps(world)).toEqual([]);
    expect(world.bench.instance(world.instance.uuid).systemMetadata).toEqual(PLAIN);
  });

  it("in error, with another in progress: both are ended", async () => {
    const world = await createSupersededMove("resize", "migrating");
    const last = migrationOf(world, "migration", "error");
    await holds(world, last.uuid, "devstack1");
    await world.steps();
    expect(world.bench.store.migrations.get(world.move.id)?.status).toBe("error");
    expect(await world.bench.held(last.uuid)).toEqual({});
    expect(await world.bench.held(world.move.uuid)).toEqual({});
  });

  it("of another server: it is not read", async () => {
    const world = await createSupersededMove("resize", "confirmed");
    const other = await world.bench.server("devstack2");
    const { id } = migrationOf({ ...world, instance: other }, "migration", "pre-migrating");
    expect(getExternalCalls(await world.steps())[0]).toBe("GET /allocation_candidates");
    expect(world.bench.store.migrations.get(id)?.status).toBe("pre-migrating");
  });

  it.each(["confirmed", "reverted", "completed"] as const)("%s: it is not read", async (status) => {
    const world = await createSupersededMove("resize", status);
    expect(getExternalCalls(await world.steps())[0]).toBe("GET /allocation_candidates");
  });
});
