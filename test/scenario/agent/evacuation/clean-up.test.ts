import { expect } from "vitest";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import type { Lab, Run } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

scenario("3.1 a done evacuation: guest gone, source out of the allocations, record completed", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  await lab.start("devstack2");
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
  expect(lab.hypervisor("devstack2").guests.has(VM)).toBe(true);
  expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario(
  "3.1 OPT an evacuation back to here was claimed while the host was down: it does not go on without",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const route = { sourceCompute: "devstack2", sourceNode: "devstack2", destCompute: "devstack1" };
    const back = addMigration(lab.store, VM, "evacuation", "accepted", route);
    lab.store.instances.save(VM, { taskState: "rebuilding" });
    await lab.start("devstack1");
    expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(statusOf(lab, evacuation)).toBe("completed");
    // Handed over to an agent that has died since (2.7): the claim is given back, and the evacuation fails.
    expect(lab.store.migrations.get(back.id)?.status).toBe("failed");
    expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  },
);

scenario("3.1 an evacuation that ends otherwise while it is cleaned up after: its record is left", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  lab.beforeCall = (_host, method) => {
    if (method === "migration_save") {
      lab.store.migrations.save(evacuation.migration.id, { status: "failed" });
    }
  };
  const run = await lab.start("devstack1");
  expect(statusOf(lab, evacuation)).toBe("failed");
  expect(run.runtime.logs.filter(({ message }) => message.includes("ended otherwise"))).toHaveLength(1);
});

scenario("2.4 G6 a lease lost while the allocations are edited: the record is not even tried", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  const methods: string[] = [];
  lab.beforeCall = (_host, method) => void methods.push(method);
  const run = await lab.launch("devstack1");
  lab.beforePlacement = async (_host, request) => {
    if (request.startsWith("PUT /allocations")) {
      lab.world.network.partition("agent-devstack1", "control-plane");
      await run.runtime.timers.sleep(45_000);
    }
  };
  const failure = run.agent.start().catch((error: Error) => error);
  await lab.world.runUntil(failure);
  expect(await failure).toMatchObject({ name: "HostLeaseLost" });
  await lab.world.advance(60_000);
  expect(methods).not.toContain("migration_save");
  expect(statusOf(lab, evacuation)).toBe("done");
  lab.world.network.heal("agent-devstack1", "control-plane");
});

scenario("3.1 the log tells which allocations were edited, in which request", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  const run = await lab.start("devstack1");
  const edits = run.runtime.logs.filter(({ fields }) => fields.consumer === VM);
  expect(edits).toMatchObject([
    {
      level: "info",
      message: "took a provider and those below it from the allocations of a consumer",
      fields: { provider: evacuation.s.uuid, request_id: expect.stringMatching(/^req-/) },
    },
  ]);
});

scenario("3.1 a reinstalled hypervisor: no guest, and still the source leaves the allocations", async (lab) => {
  const evacuation = await evacuated(lab, "done", { guestLeft: false });
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
  expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario(
  "3.1 bug 1794996: an instance deleted meanwhile: guest destroyed with disks, record completed",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    lab.store.instances.destroy(VM);
    await lab.start("devstack1");
    expect(lab.hypervisor("devstack1").changes).toEqual([
      { host: "devstack1", method: "destroy", instance: VM, destroyDisks: true },
    ]);
    expect(statusOf(lab, evacuation)).toBe("completed");
    // Assumed to be gone with the instance; what is still there, the tracker's first pass removes (4.6 row 4).
    const tracking = lab.evidence.entries.findIndex(
      (entry) => entry.kind === "state" && entry.host === "devstack1" && entry.state === "tracking",
    );
    const written = lab.evidence.entries.findIndex((entry) => entry.kind === "consumer-write");
    expect(written).toBeGreaterThan(tracking);
    expect(await lab.held(VM)).toEqual({});
  },
);

scenario("3.1 a source node that is not this host's any more: the record is left", async (lab) => {
  const evacuation = await evacuated(lab, "done", { sourceNode: "gone" });
  const run = await lab.start("devstack1");
  expect(statusOf(lab, evacuation)).toBe("done");
  expect(await lab.held(VM)).toHaveProperty(evacuation.s.uuid);
  expect(run.runtime.logs.some(({ message }) => message.includes("cannot be cleaned up after"))).toBe(true);
});

scenario(
  "3.1 all guests go before any allocation is edited, and a later record replaces an earlier one",
  async (lab) => {
    const first = await evacuated(lab, "done");
    const other = uuidOf(2);
    addInstance(lab.store, other, placed(first.d));
    lab.hypervisor("devstack1").addGuest(other);
    await lab.allocate(other, first.s, first.d);
    const source = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" };
    const older = addMigration(lab.store, other, "evacuation", "done", { ...source, sourceNode: "gone" });
    const newer = addMigration(lab.store, other, "evacuation", "done", source);
    await lab.start("devstack1");
    const order = lab.evidence.entries.flatMap((entry) =>
      entry.kind === "driver" && entry.call.host === "devstack1"
        ? [`destroy ${entry.call.instance}`]
        : entry.kind === "consumer-write" && entry.host === "devstack1"
          ? [`strip ${entry.consumer}`]
          : [],
    );
    expect(order).toEqual([`destroy ${VM}`, `destroy ${other}`, `strip ${VM}`, `strip ${other}`]);
    expect(lab.store.migrations.get(older.id)?.status).toBe("done");
    expect(lab.store.migrations.get(newer.id)?.status).toBe("completed");
  },
);

scenario("3.1, 3.6 other moves and other hosts' evacuations are no reason to destroy", async (lab) => {
  const { node: s } = await lab.seed("devstack1");
  const { node: d } = await lab.seed("devstack2");
  addInstance(lab.store, VM, placed(d));
  lab.hypervisor("devstack1").addGuest(VM);
  const to = { sourceNode: "devstack1", destCompute: "devstack2", destNode: "devstack2", destComputeId: d.id };
  addMigration(lab.store, VM, "live-migration", "completed", { ...to, sourceCompute: "devstack1" });
  addMigration(lab.store, VM, "evacuation", "failed", { ...to, sourceCompute: "devstack1" });
  addMigration(lab.store, VM, "evacuation", "completed", { ...to, sourceCompute: "devstack1" });
  addMigration(lab.store, VM, "evacuation", "done", { ...to, sourceCompute: "devstack3" });
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
  expect(s.host).toBe("devstack1");
});

scenario("3.1 a driver without supports_evacuate cleans nothing", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  lab.hypervisor("devstack1").capabilities = {};
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
  expect(statusOf(lab, evacuation)).toBe("done");
});

scenario("3.1 a guest that came back to this host by a later move is alive and stays", async (lab) => {
  const evacuation = await evacuated(lab, "done", { recordedOn: "devstack1", holds: ["devstack1"] });
  lab.store.instances.save(VM, { taskState: null });
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([]);
  expect(await lab.held(VM)).toEqual({ [evacuation.s.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario(
  "3.1 a failing destroy aborts the start with every record untouched, and the next start retries",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const hypervisor = lab.hypervisor("devstack1");
    hypervisor.failures.set("destroy", () => new Error("the domain is stuck"));
    expect((await lab.failure("devstack1")).message).toContain("the domain is stuck");
    expect(statusOf(lab, evacuation)).toBe("done");
    expect(await lab.held(VM)).toHaveProperty(evacuation.s.uuid);
    hypervisor.failures.clear();
    await lab.start("devstack1");
    expect(statusOf(lab, evacuation)).toBe("completed");
    expect(hypervisor.guests.has(VM)).toBe(false);
  },
);

/** Nothing answers the agent's questions about what consumers hold. */
function placementAway(lab: Lab): () => void {
  return lab.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.includes("/allocations/"),
    fault: { kind: "refuse" },
  });
}

function waits(run: Run) {
  return run.runtime.logs.filter(({ message }) => message.startsWith("start-up waits for Placement"));
}

scenario(
  "3.1 OPT Placement that is away is waited for, with a line every 10 s; then the start goes on",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const heal = placementAway(lab);
    const run = await lab.launch("devstack1");
    const started = run.agent.start();
    await lab.world.advance(65_000);
    expect(run.agent.state).toBe("cleaning");
    expect(waits(run)).toHaveLength(7);
    expect(lab.hypervisor("devstack1").guests.has(VM)).toBe(false);
    expect(statusOf(lab, evacuation)).toBe("done");
    heal();
    await lab.world.runUntil(started);
    expect(statusOf(lab, evacuation)).toBe("completed");
    expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
    expect(lab.hypervisor("devstack1").changes.filter(({ method }) => method === "destroy")).toHaveLength(1);
  },
);

scenario(
  "3.1 OPT stopping an agent ends its wait for Placement; the next start goes on where it ended",
  async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const heal = placementAway(lab);
    const run = await lab.launch("devstack1");
    const started = run.agent.start().catch((error: Error) => error.name);
    await lab.world.advance(15_000);
    await lab.world.runUntil(run.agent.stop(), { limit: 100 });
    expect(await started).toBe("AgentStopped");
    expect(run.agent.state).toBe("stopped");
    heal();
    await lab.world.advance(30_000);
    expect(statusOf(lab, evacuation)).toBe("done");
    await lab.start("devstack1");
    expect(statusOf(lab, evacuation)).toBe("completed");
  },
);

scenario("3.1 OPT what Placement refuses while it is waited for ends the start", async (lab) => {
  await evacuated(lab, "done");
  const heal = placementAway(lab);
  const run = await lab.launch("devstack1");
  const started = run.agent.start().catch((error: Error) => error.name);
  await lab.world.advance(15_000);
  heal();
  lab.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.includes("/allocations/"),
    fault: { kind: "answer", response: { status: 500, headers: {}, body: "" } },
  });
  expect(await lab.world.runUntil(started)).toBe("ConsumerAllocationRetrievalFailed");
});

scenario("3.1 OPT an evacuation that fails while Placement is waited for: its guest runs again", async (lab) => {
  const evacuation = await evacuated(lab, "pre-migrating");
  const other = uuidOf(2);
  addInstance(lab.store, other, { ...placed(evacuation.d), taskState: null });
  await lab.allocate(other, evacuation.s, evacuation.d);
  const { id: destComputeId } = evacuation.d;
  const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2", destNode: "devstack2" };
  addMigration(lab.store, other, "evacuation", "done", { ...ends, destComputeId });
  const heal = placementAway(lab);
  const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
  const run = await lab.launch("devstack1", periodic);
  const started = run.agent.start();
  await lab.world.advance(15_000);
  expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
  lab.store.migrations.save(evacuation.migration.id, { status: "failed" });
  lab.store.instances.save(VM, { taskState: null });
  await lab.hold(VM, { [evacuation.s.uuid]: AMOUNTS });
  heal();
  await lab.world.runUntil(started);
  await lab.world.advance(70_000);
  expect(lab.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
});
