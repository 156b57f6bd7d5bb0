import { expect } from "vitest";
import { InvalidConfiguration, VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { evacuated } from "../../../unit/agent/support/evacuated.js";
import type { Harness, Run } from "../../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** Records the agent's calls of the conductor and the driver during a start, in order. */
async function recordedStart(
  harness: Harness,
  options: Parameters<Harness["launch"]>[1] = {},
): Promise<{ run: Run; steps: string[] }> {
  const steps: string[] = [];
  harness.beforeCall = (_host, method) => {
    steps.push(method);
  };
  const hypervisor = harness.hypervisor("devstack1");
  const record = hypervisor.onCall;
  hypervisor.onCall = (call) => {
    record(call);
    steps.push(`driver ${call.method}`);
  };
  const run = await harness.launch("devstack1", options);
  run.agent.onState((state) => steps.push(`-> ${state}`));
  await harness.world.runUntil(run.agent.start().catch(() => undefined));
  return { run, steps };
}

/** Asserts the order of the first occurrences of the steps. */
function expectOrder(steps: readonly string[], ...expected: readonly string[]): void {
  const places = expected.map((step) => steps.indexOf(step));
  expect(places, expected.join(", ")).not.toContain(-1);
  expect(places).toEqual([...places].sort((left, right) => left - right));
}

scenario(
  "2.1 row 1 a bad file of provider_config_location ends the start; nobody is asked anything",
  async (harness) => {
    await harness.write("/state/devstack1/provider_config/gold.yaml", "providers: []");
    const rejection = await harness.expectRejection("devstack1");
    expect(rejection).toMatchObject({ code: "provider-config-invalid", error: "ProviderConfigException" });
    expect(rejection.message).toContain("/state/devstack1/provider_config/gold.yaml");
    expect(harness.evidence.entries.filter(({ kind }) => kind === "conductor-write")).toEqual([]);
    expect(harness.hypervisor("devstack1").calls.filter(({ method }) => method !== "cleanupHost")).toEqual([]);
  },
);

scenario("2.1 rows 2-8 in order", async (harness) => {
  const { steps, run } = await recordedStart(harness, { config: { defaults: { periodic_enable: true } } });
  expectOrder(
    steps,
    "service_get_by_host",
    "-> starting",
    "-> guarding",
    "driver initHost",
    "-> registering",
    "service_create",
    "-> tracking",
    "compute_node_create",
    "-> serving",
  );
  expect(harness.controlPlane.conductor.bus.serves("devstack1")).toBe(true);
  expect(run.agent.state).toBe("serving");
});

scenario(
  "2.1 row 7 the first heartbeat comes 5 s after the agent serves, then one each report_interval",
  async (harness) => {
    await harness.start("devstack1", { config: { defaults: { report_interval: 20 } } });
    const count = () => harness.store.services.getByHost("devstack1", "nova-compute")?.reportCount;
    await harness.world.advance(4_900);
    expect(count()).toBe(0);
    await harness.world.advance(200);
    expect(count()).toBe(1);
    await harness.world.advance(20_000);
    expect(count()).toBe(2);
  },
);

scenario("2.1 row 8 periodic_enable off: no periodic task ever runs", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.start("devstack1");
  harness.store.computeNodes.destroy(node.id, "devstack1");
  await harness.world.advance(600_000);
  expect(harness.store.computeNodes.byHost("devstack1")).toEqual([]);
});

scenario("2.2 rows 2-12 in order, for a host in service", async (harness) => {
  const { s: node } = await evacuated(harness, "done");
  addInstance(harness.store, uuidOf(2), placed(node));
  addInstance(harness.store, uuidOf(3), { vmState: "building", taskState: "scheduling" });
  await harness.allocate(uuidOf(3), node);
  harness.hypervisor("devstack1").addGuest(uuidOf(2), 4);
  const config = { defaults: { resume_guests_state_on_host_boot: true } };
  const { steps, run } = await recordedStart(harness, { config });
  expectOrder(
    steps,
    "driver initHost", // 2
    "compute_nodes_by_hypervisor_hostname", // 4, 5
    "instances_by_host", // 6
    "migrations_by_filters", // 8
    "driver destroy",
    "migration_save",
    "driver resumeStateOnHostBoot", // 10
    "instance_save", // 11
    "sync_instance_info", // 12
    "-> registering",
  );
  expect(run.agent.state).toBe("serving");
});

scenario("2.2 rows 3-5 what cannot be proved ends the start before any instance is loaded", async (harness) => {
  await harness.seed("devstack1");
  harness.hypervisor("devstack1").name = "renamed";
  const { steps, run } = await recordedStart(harness);
  expect(run.agent.state).toBe("failed");
  expect(steps).not.toContain("instances_by_host");
});

scenario(
  "2.2 row 4 the hypervisor is not ready: a warning, the start goes on and nothing is destroyed",
  async (harness) => {
    await harness.seed("devstack1");
    harness.hypervisor("devstack1").failures.set("getAvailableNodes", () => new VirtDriverNotReady("later"));
    const { run } = await recordedStart(harness);
    expect(run.agent.state).toBe("serving");
    expect(run.runtime.logs.some(({ level }) => level === "warn")).toBe(true);
  },
);

scenario("2.2 row 7, 8.5 events are handled once the guard has passed", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM, 4);
  const run = await harness.start("devstack1");
  harness.hypervisor("devstack1").emit(VM, "stopped");
  await harness.world.advance(1_000);
  expect(run.operations).toContain(`sync ${VM}`);
});

scenario("2.2 row 9 the driver may leave instances out, or refuse the start", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, { ...placed(node), taskState: "powering-off" });
  const definition = harness.hypervisor("devstack1").driver();
  const driver = (listed: () => readonly []) => ({
    ...definition,
    create: async (context: Parameters<typeof definition.create>[0]) => ({
      ...(await definition.create(context)),
      processInstancesAtStartup: async () => listed(),
    }),
  });
  const skipping = await harness.start("devstack1", { driver: driver(() => []) });
  expect(skipping.operations).toEqual([]);
  harness.kill(skipping);
  await harness.world.advance(1_000);
  const rejection = await harness.expectRejection("devstack1", {
    driver: driver(() => {
      throw new InvalidConfiguration("vpmem of a guest is not configured any more");
    }),
  });
  expect(rejection).toMatchObject({ code: "configuration-invalid", error: "InvalidConfiguration" });
  expect(rejection.message).toContain("vpmem");
});

scenario(
  "2.2 row 12 the scheduler is told of the instances also when the start fails after they were loaded",
  async (harness) => {
    const { s: node } = await evacuated(harness, "done");
    addInstance(harness.store, uuidOf(2), placed(node));
    harness.hypervisor("devstack1").failures.set("destroy", () => new Error("stuck"));
    expect((await harness.failure("devstack1")).message).toContain("stuck");
    expect([...(harness.controlPlane.conductor.instanceInfo.get("devstack1") ?? [])]).toEqual([uuidOf(2)]);
  },
);

scenario("3.2 guests that no instance is known for never appear, deleted instances do", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.store.instances.destroy(VM);
  const hypervisor = harness.hypervisor("devstack1");
  hypervisor.addGuest(VM);
  hypervisor.addGuest(uuidOf(50));
  await harness.start("devstack1", { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
  await harness.world.advance(10_000);
  expect([...hypervisor.guests.keys()]).toEqual([uuidOf(50)]);
});
