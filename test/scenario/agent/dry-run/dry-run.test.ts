import { expect } from "vitest";
import { dryRun as previewed } from "../../../../src/agent/dry-run/dry-run.js";
import type { DryRunReport } from "../../../../src/agent/dry-run/report.js";
import { agentOptions } from "../../../fixtures/world/agent.js";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

/** Runs a dry run and asserts that it changed nothing: no guest, row, file or lease, and no write request. */
async function dryRun(
  harness: Harness,
  host: string,
  options: Parameters<Harness["dryRun"]>[1] = {},
): Promise<DryRunReport> {
  const entries = harness.evidence.entries.length;
  const hypervisor = options.hypervisor ?? harness.hypervisor(host);
  const before = JSON.stringify([[...hypervisor.guests], [...hypervisor.disks], [...hypervisor.tokens]]);
  const services = JSON.stringify(harness.store.services.list());
  const id = await harness.read(`/state/${host}/compute_id`);
  const report = await harness.dryRun(host, options);
  expect(harness.evidence.entries.slice(entries).filter(({ kind }) => kind !== "state")).toEqual([]);
  expect(JSON.stringify([[...hypervisor.guests], [...hypervisor.disks], [...hypervisor.tokens]])).toBe(before);
  expect(JSON.stringify(harness.store.services.list())).toBe(services);
  expect(await harness.read(`/state/${host}/compute_id`)).toBe(id);
  expect(harness.store.leases.get(host)).toBeNull();
  return report;
}

scenario("dry run of a new host: nothing to do, and nothing is made", async (harness) => {
  expect(await dryRun(harness, "devstack1")).toEqual({
    host: "devstack1",
    rejection: null,
    lease: null,
    providerConflicts: [],
    guests: [],
    allocations: [],
    instances: [],
    migrations: [],
  });
});

scenario(
  "2.4 G6 dry run beside a live agent tells who it is; after its end, how long its lease runs",
  async (harness) => {
    const run = await harness.start("devstack1");
    const beside = () => harness.dryRun("devstack1", { process: "dry-run" });
    expect((await beside()).lease).toMatchObject({ host: "devstack1", connected: true, freeIn: null });
    harness.kill(run);
    await harness.world.advance(1_000);
    const gone = (await beside()).lease;
    expect(gone?.connected).toBe(false);
    expect(gone?.freeIn).toBeGreaterThan(5_000);
    await harness.world.advance(10_000);
    expect((await beside()).lease).toBeNull();
  },
);

scenario("a dry run of an agent that would not start reports the rejection, and nothing else", async (harness) => {
  const { s } = await evacuated(harness, "done");
  const report = await dryRun(harness, "standby", { hypervisor: harness.hypervisor("devstack1") });
  expect(report.rejection).toMatchObject({ code: "hypervisor-of-other-host", error: "InvalidConfiguration" });
  expect(report.rejection?.records.compute_node).toContain(s.uuid);
  expect(report.guests).toEqual([]);
});

scenario("1.2 dry run among older agents: refused, unless the agent says that it is as old", async (harness) => {
  harness.addService("older", 68);
  expect((await harness.dryRun("devstack1")).rejection).toMatchObject({ code: "service-too-old" });
  const { parts } = await harness.prepare("devstack1");
  expect(
    (await harness.world.runUntil(previewed(agentOptions({ ...parts, serviceVersion: 68 })))).rejection,
  ).toBeNull();
});

scenario(
  "dry run of an evacuated host: guest, allocation before and after, record; the start then does just that",
  async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const { s, d, migration } = evacuation;
    const report = await dryRun(harness, "devstack1");
    expect(report.guests).toEqual([
      {
        instance: VM,
        name: "vm-01",
        action: "destroy",
        reason: `evacuation ${migration.id} to devstack2 is done`,
        disks: "probe",
        disksReason: "kept if devstack2 sees the same storage",
      },
    ]);
    expect(report.allocations).toHaveLength(1);
    expect(report.allocations[0]).toMatchObject({
      consumer: VM,
      before: { [s.uuid]: { resources: AMOUNTS }, [d.uuid]: { resources: AMOUNTS } },
      after: { [d.uuid]: { resources: AMOUNTS } },
      providers: { [s.uuid]: "devstack1" },
    });
    expect(Object.keys(report.allocations[0]?.after ?? {})).toEqual([d.uuid]);
    expect(report.migrations).toMatchObject([{ migration: migration.id, from: "done", to: "completed" }]);

    await harness.start("devstack1");
    const done = harness.hypervisor("devstack1").changes.map(({ method, instance }) => ({ method, instance }));
    expect(done).toEqual(report.guests.map(({ action, instance }) => ({ method: action, instance })));
    expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
    expect(statusOf(harness, evacuation)).toBe("completed");
  },
);

scenario("dry run of a pending evacuation: the guest would be stopped, the record left", async (harness) => {
  await evacuated(harness, "accepted");
  const report = await dryRun(harness, "devstack1");
  expect(report.guests).toMatchObject([{ instance: VM, action: "stop", disks: null }]);
  expect(report.allocations).toEqual([]);
  expect(report.migrations).toMatchObject([{ from: "accepted", to: "accepted" }]);
});

scenario("dry run shows what would become of instances that were in the middle of something", async (harness) => {
  const { node } = await harness.seed("devstack1");
  const { node: other } = await harness.seed("devstack2");
  const values = placed(node);
  addInstance(harness.store, uuidOf(1), { ...values, vmState: "building", taskState: "spawning" });
  addInstance(harness.store, uuidOf(2), { ...values, taskState: "deleting" });
  addInstance(harness.store, uuidOf(3), { ...values, taskState: "rebooting_hard", powerState: 4 });
  addInstance(harness.store, uuidOf(4), { ...values, taskState: "migrating" });
  addInstance(harness.store, uuidOf(5), { vmState: "building", taskState: "scheduling" });
  addInstance(harness.store, uuidOf(6), values);
  for (const n of [1, 2, 4, 6]) {
    harness.hypervisor("devstack1").addGuest(uuidOf(n));
  }
  harness.store.instances.destroy(uuidOf(6));
  const migration = addMigration(harness.store, uuidOf(4), "live-migration", "running", {
    sourceCompute: "devstack1",
    sourceNode: "devstack1",
    destCompute: "devstack2",
  });
  await harness.allocate(uuidOf(2), node);
  await harness.allocate(uuidOf(4), other);
  await harness.allocate(migration.uuid, node);
  await harness.allocate(uuidOf(5), node);
  const periodic = { config: { defaults: { periodic_enable: true } } };
  const report = await dryRun(harness, "devstack1", periodic);
  expect(report.instances.map(({ instance, action, changes }) => [instance, action, changes])).toEqual([
    [uuidOf(1), null, { vmState: "error", taskState: null }],
    [uuidOf(2), "delete again", {}],
    [uuidOf(3), "reboot HARD", {}],
    [uuidOf(4), "abort", { taskState: null }],
    [uuidOf(5), null, { vmState: "error", taskState: null }],
  ]);
  expect(report.guests.map(({ instance, action }) => [instance, action])).toEqual([
    [uuidOf(2), "destroy"],
    [uuidOf(6), "destroy"],
  ]);
  expect(report.allocations.map(({ consumer, after }) => [consumer, Object.keys(after)])).toEqual([
    [uuidOf(2), []],
    [migration.uuid, []],
    [uuidOf(4), [node.uuid]],
  ]);
  expect(report.migrations).toEqual([
    { migration: migration.id, instance: uuidOf(4), from: "running", to: "error", reason: "migrating" },
  ]);
});

scenario("dry run of an interrupted evacuation to this host", async (harness) => {
  const { s, d } = await evacuated(harness, "pre-migrating");
  harness.hypervisor("devstack2").addGuest(VM);
  const report = await dryRun(harness, "devstack2");
  expect(report.guests).toMatchObject([{ instance: VM, action: "destroy", disks: "keep" }]);
  expect(report.allocations.map(({ after }) => Object.keys(after))).toEqual([[s.uuid]]);
  expect(report.allocations[0]?.providers).toEqual({ [d.uuid]: "devstack2" });
  expect(report.migrations).toMatchObject([{ from: "pre-migrating", to: "failed" }]);
});

scenario("4.9 dry run rejects a provider.yaml that a start rejects", async (harness) => {
  await harness.write("/state/devstack1/provider_config/one.yaml", "meta: { schema_version: 2 }\nproviders: []\n");
  const { rejection } = await dryRun(harness, "devstack1");
  expect(rejection).toMatchObject({
    code: "provider-config-invalid",
    found: expect.stringMatching(/one\.yaml.*schema_version must be a quoted version/),
  });
  expect((await harness.expectRejection("devstack1")).code).toBe(rejection?.code);
});

scenario(
  "4.7 dry run reports a provider that an operator renamed, and the agent then starts all the same",
  async (harness) => {
    const run = await harness.start("devstack1");
    await harness.stop(run);
    await harness.world.advance(60_000);
    const [node] = harness.store.computeNodes.byHost("devstack1");
    const uuid = node?.uuid ?? "";
    expect((await dryRun(harness, "devstack1")).providerConflicts).toEqual([]);
    harness.renameProvider(uuid, "renamed");
    expect((await dryRun(harness, "devstack1")).providerConflicts).toEqual([
      {
        uuid,
        name: "devstack1",
        found: `resource provider ${uuid} of compute node devstack1 has the name renamed in Placement, expected devstack1`,
        hint: `rename it: openstack resource provider set --name devstack1 ${uuid}`,
      },
    ]);
    await harness.start("devstack1");
    expect(harness.store.services.list().map(({ host, disabled }) => [host, disabled])).toEqual([["devstack1", false]]);
  },
);
