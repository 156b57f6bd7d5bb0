import { beforeEach, expect, it } from "vitest";
import { ConductorBench } from "../../../../unit/control-plane/conductor/tasks/bench.js";

let bench: ConductorBench;

beforeEach(async () => {
  bench = await ConductorBench.open();
  await bench.host("devstack1");
  await bench.host("devstack2");
});

/** Returns the ids of the requests that the conductor and the scheduler sent to Placement. */
const sent = () => new Set(bench.placementBench.sent.map(({ headers }) => headers["x-openstack-request-id"]));

it("build: candidates and claims have the id of the API's request", async () => {
  const uuid = bench.request();
  await bench.run();
  expect(bench.casts).toHaveLength(1);
  expect(sent()).toEqual(new Set([`req-${uuid}`]));
});

it("evacuate: the doubled claim has the id of the API's request", async () => {
  const { uuid } = await bench.server("devstack1");
  bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
  bench.store.instances.save(uuid, { taskState: "rebuilding" });
  const migration = bench.store.migrations.create({
    instanceUuid: uuid,
    migrationType: "evacuation",
    status: "accepted",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1" },
  });
  bench.placementBench.mark();
  await bench.run({
    kind: "rebuild_instance",
    instanceUuid: uuid,
    migrationId: migration.id,
    requestId: "req-evacuate",
    host: null,
    forced: false,
    onSharedStorage: null,
    targetStopped: false,
  });
  expect(bench.casts).toMatchObject([{ host: "devstack2" }]);
  expect(sent()).toEqual(new Set(["req-evacuate"]));
});

it("local delete: the deletion has the id of the API's request", async () => {
  const { uuid } = await bench.server("devstack1");
  bench.store.instances.save(uuid, { taskState: "deleting" });
  bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
  bench.placementBench.mark();
  await bench.run({ kind: "delete_local", instanceUuid: uuid, requestId: "req-delete" });
  expect(bench.placementBench.sent).not.toEqual([]);
  expect(sent()).toEqual(new Set(["req-delete"]));
});
