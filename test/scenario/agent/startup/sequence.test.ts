import { expect } from "vitest";
import { InvalidConfiguration, VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { evacuated } from "../../../unit/agent/support/evacuated.js";
import type { Lab, Run } from "../../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** What the agent asks of the conductor and of its driver while it starts, in order. */
async function recordedStart(
  lab: Lab,
  options: Parameters<Lab["launch"]>[1] = {},
): Promise<{ run: Run; steps: string[] }> {
  const steps: string[] = [];
  lab.beforeCall = (_host, method) => {
    steps.push(method);
  };
  const hypervisor = lab.hypervisor("devstack1");
  const record = hypervisor.onCall;
  hypervisor.onCall = (call) => {
    record(call);
    steps.push(`driver ${call.method}`);
  };
  const run = await lab.launch("devstack1", options);
  run.agent.onState((state) => steps.push(`-> ${state}`));
  await lab.world.runUntil(run.agent.start().catch(() => undefined));
  return { run, steps };
}

/** That the steps came in this order, each for the first time. */
function expectOrder(steps: readonly string[], ...wanted: readonly string[]): void {
  const places = wanted.map((step) => steps.indexOf(step));
  expect(places, wanted.join(", ")).not.toContain(-1);
  expect(places).toEqual([...places].sort((left, right) => left - right));
}

scenario("2.1 row 1 a bad file of provider_config_location ends the start; nobody is asked anything", async (lab) => {
  await lab.write("/state/devstack1/provider_config/gold.yaml", "providers: []");
  const refusal = await lab.refusal("devstack1");
  expect(refusal).toMatchObject({ code: "provider-config-invalid", error: "ProviderConfigException" });
  expect(refusal.message).toContain("/state/devstack1/provider_config/gold.yaml");
  expect(lab.evidence.entries.filter(({ kind }) => kind === "conductor-write")).toEqual([]);
  expect(lab.hypervisor("devstack1").calls.filter(({ method }) => method !== "cleanupHost")).toEqual([]);
});

scenario("2.1 rows 2-8 in order", async (lab) => {
  const { steps, run } = await recordedStart(lab, { config: { defaults: { periodic_enable: true } } });
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
  expect(lab.controlPlane.conductor.bus.serves("devstack1")).toBe(true);
  expect(run.agent.state).toBe("serving");
});

scenario(
  "2.1 row 7 the first heartbeat comes 5 s after the agent serves, then one each report_interval",
  async (lab) => {
    await lab.start("devstack1", { config: { defaults: { report_interval: 20 } } });
    const count = () => lab.store.services.getByHost("devstack1", "nova-compute")?.reportCount;
    await lab.world.advance(4_900);
    expect(count()).toBe(0);
    await lab.world.advance(200);
    expect(count()).toBe(1);
    await lab.world.advance(20_000);
    expect(count()).toBe(2);
  },
);

scenario("2.1 row 8 periodic_enable off: no periodic task ever runs", async (lab) => {
  const { node } = await lab.seed("devstack1");
  await lab.start("devstack1");
  lab.store.computeNodes.destroy(node.id, "devstack1");
  await lab.world.advance(600_000);
  expect(lab.store.computeNodes.byHost("devstack1")).toEqual([]);
});

scenario("2.2 rows 2-12 in order, for a host in service", async (lab) => {
  const { s: node } = await evacuated(lab, "done");
  addInstance(lab.store, uuidOf(2), placed(node));
  addInstance(lab.store, uuidOf(3), { vmState: "building", taskState: "scheduling" });
  await lab.allocate(uuidOf(3), node);
  lab.hypervisor("devstack1").addGuest(uuidOf(2), 4);
  const config = { defaults: { resume_guests_state_on_host_boot: true } };
  const { steps, run } = await recordedStart(lab, { config });
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

scenario("2.2 rows 3-5 what cannot be proved ends the start before any instance is loaded", async (lab) => {
  await lab.seed("devstack1");
  lab.hypervisor("devstack1").name = "renamed";
  const { steps, run } = await recordedStart(lab);
  expect(run.agent.state).toBe("failed");
  expect(steps).not.toContain("instances_by_host");
});

scenario(
  "2.2 row 4 the hypervisor is not ready: a warning, the start goes on and nothing is destroyed",
  async (lab) => {
    await lab.seed("devstack1");
    lab.hypervisor("devstack1").failures.set("getAvailableNodes", () => new VirtDriverNotReady("later"));
    const { run } = await recordedStart(lab);
    expect(run.agent.state).toBe("serving");
    expect(run.runtime.logs.some(({ level }) => level === "warn")).toBe(true);
  },
);

scenario("2.2 row 7, 8.5 events are heard once the guard let the agent pass", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  lab.hypervisor("devstack1").addGuest(VM, 4);
  const run = await lab.start("devstack1");
  lab.hypervisor("devstack1").emit(VM, "stopped");
  await lab.world.advance(1_000);
  expect(run.operations).toContain(`sync ${VM}`);
});

scenario("2.2 row 9 the driver may leave instances out, or refuse the start", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, { ...placed(node), taskState: "powering-off" });
  const definition = lab.hypervisor("devstack1").driver();
  const driver = (listed: () => readonly []) => ({
    ...definition,
    create: async (context: Parameters<typeof definition.create>[0]) => ({
      ...(await definition.create(context)),
      processInstancesAtStartup: async () => listed(),
    }),
  });
  const skipping = await lab.start("devstack1", { driver: driver(() => []) });
  expect(skipping.operations).toEqual([]);
  lab.kill(skipping);
  await lab.world.advance(1_000);
  const refusal = await lab.refusal("devstack1", {
    driver: driver(() => {
      throw new InvalidConfiguration("vpmem of a guest is not configured any more");
    }),
  });
  expect(refusal).toMatchObject({ code: "configuration-invalid", error: "InvalidConfiguration" });
  expect(refusal.message).toContain("vpmem");
});

scenario(
  "2.2 row 12 the scheduler is told of the instances also when the start fails after they were loaded",
  async (lab) => {
    const { s: node } = await evacuated(lab, "done");
    addInstance(lab.store, uuidOf(2), placed(node));
    lab.hypervisor("devstack1").failures.set("destroy", () => new Error("stuck"));
    expect((await lab.failure("devstack1")).message).toContain("stuck");
    expect([...(lab.controlPlane.conductor.instanceInfo.get("devstack1") ?? [])]).toEqual([uuidOf(2)]);
  },
);

scenario("3.2 guests that no instance is known for never appear, deleted instances do", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  lab.store.instances.destroy(VM);
  const hypervisor = lab.hypervisor("devstack1");
  hypervisor.addGuest(VM);
  hypervisor.addGuest(uuidOf(50));
  await lab.start("devstack1", { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } });
  await lab.world.advance(10_000);
  expect([...hypervisor.guests.keys()]).toEqual([uuidOf(50)]);
});
