import { expect, it } from "vitest";
import { ObservedStates, serverLife } from "../../../../src/dashboard/server-lifecycle.js";
import { addInstance, addNode, addService, memoryStore } from "../../control-plane/store/support.js";

it("a host has the server from the build until the move away, whenever the next host launched it", async () => {
  const { store, runtime } = await memoryStore();
  const { clock } = runtime;
  const { uuid } = addInstance(store);
  const requestId = "req-1";
  const later = async () => {
    await runtime.world.advance(10_000);
    return clock.now();
  };
  const placeOf = (host: string) => {
    const { id: computeId } = addNode(store, addService(store, host));
    return { host, node: host, computeId };
  };
  store.actions.start({ instanceUuid: uuid, requestId, action: "create", userId: "user", projectId: "project" });
  const event = "compute__do_build_and_run_instance";
  const id = store.actions.startEvent({ instanceUuid: uuid, requestId, event, host: "devstack1" }) ?? 0;
  const built = await later();
  store.actions.finishEvent(id, { result: "Success" });
  store.instances.save(uuid, { ...placeOf("devstack1"), launchedAt: built });
  await later();
  const migration = store.migrations.create({
    instanceUuid: uuid,
    migrationType: "resize",
    status: "migrating",
    changes: { sourceCompute: "devstack1", destCompute: "devstack2" },
  });
  const moved = await later();
  store.instances.save(uuid, { ...placeOf("devstack2"), launchedAt: moved });
  store.migrations.save(migration.id, { status: "finished" });
  await later();
  const observed = new ObservedStates(clock);
  const life = serverLife(uuid, { store, consumers: undefined, observed, flavorName: () => null });
  expect(life?.hosts).toEqual([
    { host: "devstack1", from: built, to: moved },
    { host: "devstack2", from: moved, to: null },
  ]);
});
