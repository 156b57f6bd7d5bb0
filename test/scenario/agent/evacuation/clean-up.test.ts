import { expect } from "vitest";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import type { Harness, Run } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

scenario("3.1 a done evacuation: guest gone, source out of the allocations, record completed", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  await harness.start("devstack2");
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(harness.hypervisor("devstack2").guests.has(VM)).toBe(true);
  expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario(
  "3.1 OPT an evacuation back to here was claimed while the host was down: it does not go on without",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const route = { sourceCompute: "devstack2", sourceNode: "devstack2", destCompute: "devstack1" };
    const back = addMigration(harness.store, VM, "evacuation", "accepted", route);
    harness.store.instances.save(VM, { taskState: "rebuilding" });
    await harness.start("devstack1");
    expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(statusOf(harness, evacuation)).toBe("completed");
    // Handed over to an agent that has died since (2.7): the claim is removed, and the evacuation fails.
    expect(harness.store.migrations.get(back.id)?.status).toBe("failed");
    expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  },
);

scenario("3.1 an evacuation that ends otherwise while it is cleaned up after: its record is left", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  harness.beforeCall = (_host, method) => {
    if (method === "migration_save") {
      harness.store.migrations.save(evacuation.migration.id, { status: "failed" });
    }
  };
  const run = await harness.start("devstack1");
  expect(statusOf(harness, evacuation)).toBe("failed");
  expect(run.runtime.logs.filter(({ message }) => message.includes("status changed during the cleanup"))).toHaveLength(
    1,
  );
});

scenario("2.4 G6 a lease lost while the allocations are edited: the record is not even tried", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  const methods: string[] = [];
  harness.beforeCall = (_host, method) => void methods.push(method);
  const run = await harness.launch("devstack1");
  harness.beforePlacement = async (_host, request) => {
    if (request.startsWith("PUT /allocations")) {
      harness.world.network.partition("agent-devstack1", "control-plane");
      await run.runtime.timers.sleep(45_000);
    }
  };
  const failure = run.agent.start().catch((error: Error) => error);
  await harness.world.runUntil(failure);
  expect(await failure).toMatchObject({ name: "HostLeaseLost" });
  await harness.world.advance(60_000);
  expect(methods).not.toContain("migration_save");
  expect(statusOf(harness, evacuation)).toBe("done");
  harness.world.network.heal("agent-devstack1", "control-plane");
});

scenario("3.1 the log names the edited allocations and the request", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  const run = await harness.start("devstack1");
  const edits = run.runtime.logs.filter(({ fields }) => fields.consumer === VM);
  expect(edits).toMatchObject([
    {
      level: "info",
      message: `removed provider ${evacuation.s.uuid} and its children from the allocations of consumer ${VM}`,
      fields: { provider: evacuation.s.uuid, request_id: expect.stringMatching(/^req-/) },
    },
  ]);
});

scenario("3.1 a reinstalled hypervisor: no guest, and still the source leaves the allocations", async (harness) => {
  const evacuation = await evacuated(harness, "done", { guestLeft: false });
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
  expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario(
  "3.1 bug 1794996: an instance deleted meanwhile: guest destroyed with disks, record completed",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    harness.store.instances.destroy(VM);
    await harness.start("devstack1");
    expect(harness.hypervisor("devstack1").changes).toEqual([
      { host: "devstack1", method: "destroy", instance: VM, destroyDisks: true },
    ]);
    expect(statusOf(harness, evacuation)).toBe("completed");
    // Assumed to be gone with the instance; the tracker's first pass removes the rest (4.6 row 4).
    const tracking = harness.evidence.entries.findIndex(
      (entry) => entry.kind === "state" && entry.host === "devstack1" && entry.state === "tracking",
    );
    const written = harness.evidence.entries.findIndex((entry) => entry.kind === "consumer-write");
    expect(written).toBeGreaterThan(tracking);
    expect(await harness.held(VM)).toEqual({});
  },
);

scenario("3.1 a source node that is not this host's any more: the record is left", async (harness) => {
  const evacuation = await evacuated(harness, "done", { sourceNode: "gone" });
  const run = await harness.start("devstack1");
  expect(statusOf(harness, evacuation)).toBe("done");
  expect(await harness.held(VM)).toHaveProperty(evacuation.s.uuid);
  expect(run.runtime.logs.some(({ message }) => message.includes("cannot clean up after"))).toBe(true);
});

scenario(
  "3.1 all guests go before any allocation is edited, and a later record replaces an earlier one",
  async (harness) => {
    const first = await evacuated(harness, "done");
    const other = uuidOf(2);
    addInstance(harness.store, other, placed(first.d));
    harness.hypervisor("devstack1").addGuest(other);
    await harness.allocate(other, first.s, first.d);
    const source = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
    const older = addMigration(harness.store, other, "evacuation", "done", { ...source, sourceNode: "gone" });
    const newer = addMigration(harness.store, other, "evacuation", "done", source);
    await harness.start("devstack1");
    const order = harness.evidence.entries.flatMap((entry) =>
      entry.kind === "driver" && entry.call.host === "devstack1"
        ? [`destroy ${entry.call.instance}`]
        : entry.kind === "consumer-write" && entry.host === "devstack1"
          ? [`strip ${entry.consumer}`]
          : [],
    );
    expect(order).toEqual([`destroy ${VM}`, `destroy ${other}`, `strip ${VM}`, `strip ${other}`]);
    expect(harness.store.migrations.get(older.id)?.status).toBe("done");
    expect(harness.store.migrations.get(newer.id)?.status).toBe("completed");
  },
);

scenario("3.1, 3.6 other moves and other hosts' evacuations are no reason to destroy", async (harness) => {
  const { node: s } = await harness.seed("devstack1");
  const { node: d } = await harness.seed("devstack2");
  addInstance(harness.store, VM, placed(d));
  harness.hypervisor("devstack1").addGuest(VM);
  const to = { sourceNode: "devstack1", destCompute: "devstack2", destNode: "devstack2", destComputeId: d.id };
  addMigration(harness.store, VM, "live-migration", "completed", { ...to, sourceCompute: "devstack1" });
  addMigration(harness.store, VM, "evacuation", "failed", { ...to, sourceCompute: "devstack1" });
  addMigration(harness.store, VM, "evacuation", "completed", { ...to, sourceCompute: "devstack1" });
  addMigration(harness.store, VM, "evacuation", "done", { ...to, sourceCompute: "devstack3" });
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
  expect(s.host).toBe("devstack1");
});

scenario("3.1 a driver without supports_evacuate cleans nothing", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  harness.hypervisor("devstack1").capabilities = {};
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
  expect(statusOf(harness, evacuation)).toBe("done");
});

scenario("3.1 a guest that came back to this host by a later move is alive and stays", async (harness) => {
  const evacuation = await evacuated(harness, "done", { recordedOn: "devstack1", holds: ["devstack1"] });
  harness.store.instances.save(VM, { taskState: null });
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([]);
  expect(await harness.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario(
  "3.1 a failing destroy aborts the start with every record untouched, and the next start retries",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const hypervisor = harness.hypervisor("devstack1");
    hypervisor.failures.set("destroy", () => new Error("the domain is stuck"));
    expect((await harness.failure("devstack1")).message).toContain("the domain is stuck");
    expect(statusOf(harness, evacuation)).toBe("done");
    expect(await harness.held(VM)).toHaveProperty(evacuation.s.uuid);
    hypervisor.failures.clear();
    await harness.start("devstack1");
    expect(statusOf(harness, evacuation)).toBe("completed");
    expect(hypervisor.guests.has(VM)).toBe(false);
  },
);

/** Makes all allocation requests of the agent fail. */
function placementAway(harness: Harness): () => void {
  return harness.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.includes("/allocations/"),
    fault: { kind: "refuse" },
  });
}

function waits(run: Run) {
  return run.runtime.logs.filter(({ message }) => message.startsWith("start-up waits for Placement"));
}

scenario(
  "3.1 OPT Placement that is away is waited for, with a line every 10 s; then the start goes on",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const heal = placementAway(harness);
    const run = await harness.launch("devstack1");
    const started = run.agent.start();
    await harness.world.advance(65_000);
    expect(run.agent.state).toBe("cleaning");
    expect(waits(run)).toHaveLength(7);
    expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(statusOf(harness, evacuation)).toBe("done");
    heal();
    await harness.world.runUntil(started);
    expect(statusOf(harness, evacuation)).toBe("completed");
    expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
    expect(harness.hypervisor("devstack1").changes.filter(({ method }) => method === "destroy")).toHaveLength(1);
  },
);

scenario(
  "3.1 OPT stopping an agent ends its wait for Placement; the next start goes on where it ended",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const heal = placementAway(harness);
    const run = await harness.launch("devstack1");
    const started = run.agent.start().catch((error: Error) => error.name);
    await harness.world.advance(15_000);
    await harness.world.runUntil(run.agent.stop(), { limit: 100 });
    expect(await started).toBe("AgentStopped");
    expect(run.agent.state).toBe("stopped");
    heal();
    await harness.world.advance(30_000);
    expect(statusOf(harness, evacuation)).toBe("done");
    await harness.start("devstack1");
    expect(statusOf(harness, evacuation)).toBe("completed");
  },
);

scenario("3.1 OPT what Placement refuses while it is waited for ends the start", async (harness) => {
  await evacuated(harness, "done");
  const heal = placementAway(harness);
  const run = await harness.launch("devstack1");
  const started = run.agent.start().catch((error: Error) => error.name);
  await harness.world.advance(15_000);
  heal();
  harness.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.includes("/allocations/"),
    fault: { kind: "answer", response: { status: 500, headers: {}, body: "" } },
  });
  expect(await harness.world.runUntil(started)).toBe("ConsumerAllocationRetrievalFailed");
});

scenario("3.1 OPT an evacuation that fails while Placement is waited for: its guest runs again", async (harness) => {
  const evacuation = await evacuated(harness, "pre-migrating");
  const other = uuidOf(2);
  addInstance(harness.store, other, { ...placed(evacuation.d), taskState: null });
  await harness.allocate(other, evacuation.s, evacuation.d);
  const { id: destComputeId } = evacuation.d;
  const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2", destNode: "devstack2" };
  addMigration(harness.store, other, "evacuation", "done", { ...ends, destComputeId });
  const heal = placementAway(harness);
  const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
  const run = await harness.launch("devstack1", periodic);
  const started = run.agent.start();
  await harness.world.advance(15_000);
  expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
  harness.store.migrations.save(evacuation.migration.id, { status: "failed" });
  harness.store.instances.save(VM, { taskState: null });
  await harness.hold(VM, { [evacuation.s.uuid]: AMOUNTS });
  heal();
  await harness.world.runUntil(started);
  await harness.world.advance(70_000);
  expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
});
