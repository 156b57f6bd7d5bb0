import { describe, expect, test } from "vitest";
import { VirtDriverNotReady } from "../../src/virt/errors.js";
import { checkPersistedUsage, checkProviders } from "../fixtures/invariants-tracker.js";
import { FAKE_NODE, StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld, USER } from "../fixtures/tracker-world.js";

const pass = (agent: TestAgent) => agent.tracker.updateAvailableResource({ startup: false });
function paths(agent: TestAgent) {
  return agent.http
    .take()
    .map(({ method, path }) => `${method} ${path.replaceAll(agent.nodeUuid, "U").replace(/in:.*/, "in:…")}`);
}
function node(world: TrackerWorld, host: string) {
  const [row] = world.store.computeNodes.byHost(host);
  if (!row) {
    throw new TypeError(`no node of ${host}`);
  }
  return row;
}

describe("4.3 update_available_resource", () => {
  test("4.3 step 1 a hypervisor that is not ready: the pass is skipped, nothing is concluded", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    hypervisor.fail = () => new VirtDriverNotReady("libvirt is starting");
    await pass(agent);
    expect(world.logged("warn", "this pass is skipped")).toBe(1);
    expect(world.store.computeNodes.byHost("h1")).toHaveLength(1);
    expect(agent.http.requests).toEqual([]);
  });

  test("4.3 step 2 no rows: a line for debugging at start-up, an error later", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.agent("h1", new StubHypervisor("n1"));
    await agent.tracker.updateAvailableResource({ startup: true });
    world.store.computeNodes.destroy(node(world, "h1").id, "h1");
    await pass(agent);
    expect(world.logged("debug", "no compute node yet")).toBe(1);
    expect(world.logged("error", "no compute node yet")).toBe(1);
  });

  test("4.3 step 3 the row was deleted: row and provider are made again (V10, bug 1853009)", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    world.store.computeNodes.destroy(node(world, "h1").id, "h1");
    await world.admin.deleteResourceProvider(agent.nodeUuid);
    await pass(agent);
    expect(node(world, "h1").uuid).toBe(agent.nodeUuid);
    await checkProviders(world, agent);
    checkPersistedUsage(world, agent);
  });

  test.each([true, false])(
    "4.3 step 5 the provider was deleted, and the providers cannot be listed: it is made again (V10, lean_tracking %s)",
    async (leanTracking) => {
      const world = await TrackerWorld.create();
      const config = { compute: { leanTracking } };
      const agent = await world.startedAgent("h1", new StubHypervisor("n1"), { config });
      await world.admin.deleteResourceProvider(agent.nodeUuid);
      const lost = agent.http.requests.length;
      agent.http.fault = ({ path }) =>
        agent.http.requests.length === lost && path.includes("in_tree") ? "answer lost" : undefined;
      await pass(agent);
      await checkProviders(world, agent);
    },
  );

  test("4.3 step 4 an orphan that the driver does not call deleted is kept", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    hypervisor.nodes.clear();
    await pass(agent);
    expect(world.store.computeNodes.byHost("h1")).toHaveLength(1);
    expect(world.logged("warn", "is kept")).toBe(1);
  });

  test("4.3 step 4 an orphan that is deleted: row, then provider with what its instances held", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    const vm = await world.placed(agent);
    for (const [, stub] of hypervisor.nodes) {
      stub.deleted = true;
    }
    await pass(agent);
    expect(world.store.computeNodes.byHost("h1")).toEqual([]);
    expect(agent.tracker.nodes().size).toBe(0);
    expect(await world.held(vm.uuid)).toEqual({});
    const left = (
      await agent.http.request({
        method: "GET",
        url: "http://p/resource_providers",
        headers: { "x-auth-token": "admin", "x-openstack-request-id": "req-check" },
      })
    ).body;
    expect(JSON.parse(left)).toEqual({ resource_providers: [] });
  });

  test("4.3 step 4 an orphan whose host changed: only forgotten, the provider is left to the new host (V9)", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    for (const [, stub] of hypervisor.nodes) {
      stub.deleted = true;
    }
    const { id } = node(world, "h1");
    agent.session.fail = ({ method }) => {
      if (method === "compute_node_destroy") {
        world.store.computeNodes.save(id, { host: "h2" });
      }
      return undefined;
    };
    await pass(agent);
    expect(world.store.computeNodes.getByUuid(agent.nodeUuid)?.host).toBe("h2");
    expect(agent.http.take().filter(({ method }) => method !== "GET")).toEqual([]);
    expect(agent.tracker.nodes().size).toBe(0);
  });

  test("4.3 step 5, V22 one node fails: the others are updated", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    for (const name of ["a", "b", "c"]) {
      hypervisor.nodes.set(name, { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    }
    hypervisor.fail = (method, subject) =>
      method === "getAvailableResource" && subject === "b" ? new TypeError("broken node") : undefined;
    const agent = await world.startedAgent("h1", hypervisor);
    expect([...agent.tracker.nodes().keys()]).toEqual(["a", "c"]);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
  });
});

describe("4.4 the pass of one node, and 5.2 its requests", () => {
  test("5.2 first pass: exactly these requests", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.agent("h1", new StubHypervisor("n1"));
    await agent.tracker.updateAvailableResource({ startup: true });
    expect(paths(agent)).toEqual([
      "GET /resource_providers?in_tree=U",
      "POST /resource_providers",
      "PUT /resource_providers/U/inventories",
      "GET /traits?name=in:…",
      "PUT /resource_providers/U/traits",
    ]);
    await checkProviders(world, agent);
    checkPersistedUsage(world, agent);
  });

  test("5.2 unchanged pass: one listing, and no write of any kind", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    await pass(agent);
    agent.http.take();
    agent.steps.length = 0;
    await pass(agent);
    expect(paths(agent)).toEqual(["GET /resource_providers?in_tree=U"]);
    expect(agent.steps.filter((step) => /conductor \w*(save|create|destroy)/.test(step))).toEqual([]);
  });

  test("5.2 without lean_tracking: what nova-compute sends in an unchanged pass, as it was recorded", async () => {
    const world = await TrackerWorld.create();
    const config = { compute: { leanTracking: false } };
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"), { config });
    agent.http.take();
    await pass(agent);
    expect(paths(agent)).toEqual(["GET /resource_providers/U/allocations", "GET /resource_providers/U/allocations"]);
    const vm = world.instance();
    await world.claim(vm, agent.nodeUuid);
    await world.build(agent, vm);
    const built = agent.http.take().map(({ method, path }) => `${method} ${path}`);
    // Phase "boot" of the recording: for the claim, then the tree's allocations and each of its consumers.
    expect(built).toEqual([`GET /resource_providers/${agent.nodeUuid}/allocations`, `GET /allocations/${vm.uuid}`]);
  });

  test("4.4 step 2 restart: the row is found by uuid, associations are read once, nothing is written", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    await world.startedAgent("h1", hypervisor);
    const agent = await world.agent("h1", hypervisor);
    await agent.tracker.updateAvailableResource({ startup: true });
    expect(paths(agent).sort()).toEqual([
      "GET /resource_providers/U/aggregates",
      "GET /resource_providers/U/allocations",
      "GET /resource_providers/U/inventories",
      "GET /resource_providers/U/traits",
      "GET /resource_providers?in_tree=U",
    ]);
  });

  test("4.4 step 2 a deleted row of the same uuid is un-deleted (bug 1839560)", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    await world.startedAgent("h1", hypervisor);
    const { id } = node(world, "h1");
    world.store.computeNodes.destroy(id, "h1");
    await world.startedAgent("h1", hypervisor);
    expect(node(world, "h1")).toMatchObject({ id, deleted: 0 });
  });

  test("4.4 step 2 a row of another host moves here", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    hypervisor.nodes.set("n1", { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    await world.startedAgent("h1", hypervisor);
    const second = await world.startedAgent("h2", hypervisor);
    expect(world.store.computeNodes.byHost("h1")).toEqual([]);
    const service = world.store.services.getByHost("h2", "nova-compute");
    expect(node(world, "h2")).toMatchObject({ hypervisorHostname: "n1", serviceId: service?.id });
    checkPersistedUsage(world, second);
  });

  test("4.4 step 2, 2.4 G12 another uuid with the same host and name: fatal at start-up, logged later", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    hypervisor.nodes.set("n1", { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    await world.startedAgent("h1", hypervisor);
    hypervisor.nodes.set("n1", { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    const agent = await world.agent("h1", hypervisor);
    await expect(agent.tracker.updateAvailableResource({ startup: true })).rejects.toMatchObject({
      name: "InvalidConfiguration",
    });
    await pass(agent);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
    expect(agent.tracker.nodes().size, "cached only after the insert (bug 1839674)").toBe(0);
  });

  test("4.4 copying: ratio options that are set overwrite, unset ones keep what the row has (bug 1789654)", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    const first = await world.startedAgent("h1", hypervisor, { config: { defaults: { cpuAllocationRatio: 8 } } });
    expect(first.tracker.nodes().get("n1")).toMatchObject({ cpuAllocationRatio: 8, ramAllocationRatio: 1 });
    const second = await world.startedAgent("h1", hypervisor, { config: { defaults: { cpuAllocationRatio: 0 } } });
    expect(second.tracker.nodes().get("n1")?.cpuAllocationRatio, "0.0 is unset").toBe(8);
  });

  test("4.4 steps 6-7, V19 instances are counted, and get the compute id that they lack", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const vm = await world.placed(agent, { flavor: world.flavor({ vcpus: 4, memoryMb: 2048, rootGb: 10, swap: 1 }) });
    await world.placed(agent, { vmState: "stopped", taskState: "powering-on" });
    await world.placed(agent, { vmState: "shelved_offloaded" });
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    world.store.instances.save(vm.uuid, { computeId: node(world, "h2").id, host: "h1", node: "n1" });
    expect(other.tracker.nodes().size).toBe(1);
    await pass(agent);
    expect(world.stored(vm.uuid).computeId).toBe(node(world, "h1").id);
    checkPersistedUsage(world, agent);
    expect(node(world, "h1")).toMatchObject({ vcpusUsed: 5, localGbUsed: 12, runningVms: 2, currentWorkload: 1 });
    expect(node(world, "h1").stats).toMatchObject({
      num_instances: "2",
      num_vm_stopped: "1",
      "num_task_powering-on": "1",
    });
  });

  test("4.4 step 8 a migration that the instance's context contradicts is set to error", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const context = { instanceUuid: USER, oldNumaTopology: null, newNumaTopology: null };
    const lists = { oldPciDevices: [], newPciDevices: [], oldResources: [], newResources: [] };
    const vm = await world.placed(agent, { taskState: "resize_prep" });
    const migration = world.store.migrations.create({
      instanceUuid: vm.uuid,
      migrationType: "resize",
      status: "pre-migrating",
      changes: { sourceCompute: "h0", sourceNode: "n0", destCompute: "h1", destNode: "n1", destComputeId: 1 },
    });
    world.store.instances.save(vm.uuid, { migrationContext: { ...context, ...lists, migrationId: 4711 } });
    await pass(agent);
    expect(world.store.migrations.get(migration.id)?.status).toBe("error");
  });

  test("4.4 step 11 a row that could not be saved is saved by the next pass (bug 1834712)", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    await world.placed(agent);
    agent.session.fail = ({ method }) => (method === "compute_node_save" ? new TypeError("database gone") : undefined);
    await pass(agent);
    expect(node(world, "h1").vcpusUsed).toBe(0);
    agent.session.fail = () => undefined;
    await pass(agent);
    checkPersistedUsage(world, agent);
    expect(node(world, "h1").vcpusUsed).toBe(1);
  });

  test("many nodes: one request for an unchanged pass, and statistics that do not mix (bug 1784705)", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor();
    for (let index = 0; index < 20; index += 1) {
      hypervisor.nodes.set(`n${index}`, { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
    }
    const agent = await world.startedAgent("h1", hypervisor);
    const rows = world.store.computeNodes.byHost("h1");
    for (const row of rows.slice(0, 3)) {
      await world.placed(agent, { node: row.hypervisorHostname, computeId: row.id });
    }
    await pass(agent);
    checkPersistedUsage(world, agent);
    expect(
      world.store.computeNodes
        .byHost("h1")
        .map(({ runningVms }) => runningVms)
        .sort()
        .slice(-4),
    ).toEqual([0, 1, 1, 1]);
    agent.http.take();
    await pass(agent);
    expect(agent.http.take()).toHaveLength(1);
    const empty = hypervisor.nodes.get("n9");
    if (empty) {
      empty.vcpus += 1;
    }
    await pass(agent);
    expect(agent.http.take().map(({ method }) => method)).toEqual(["GET", "PUT"]);
  });
});

describe("2.5 and 4.7 traits of the root", () => {
  const traits = async (world: TrackerWorld, agent: TestAgent) =>
    (await world.admin.getProviderTraits(agent.nodeUuid)).traits;

  test("4.7 capabilities are added and removed, COMPUTE_NODE and OWNER_NOVA always; the operator's are kept", async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    hypervisor.capabilities = { supportsMultiattach: true };
    const first = await world.startedAgent("h1", hypervisor);
    const now = await world.admin.getProviderTraits(first.nodeUuid);
    await world.admin.setTraitsForProvider(first.nodeUuid, {
      ...now,
      traits: [...now.traits, "CUSTOM_GOLD", "HW_CPU_X86_AVX", "COMPUTE_TRUSTED_CERTS"],
    });
    hypervisor.capabilities = { supportsDeviceTagging: true };
    const second = await world.startedAgent("h1", hypervisor);
    expect([...(await traits(world, second))].sort()).toEqual([
      "COMPUTE_DEVICE_TAGGING",
      "COMPUTE_NODE",
      "CUSTOM_GOLD",
      "HW_CPU_X86_AVX",
      "OWNER_NOVA",
    ]);
  });

  test("2.5 disable sets the trait at once, enable clears it; a failure warns and the pass repairs it", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const service = world.store.services.getByHost("h1", "nova-compute");
    world.store.services.update(service?.id ?? 0, { disabled: true });
    await agent.tracker.setHostEnabled(false, "req-disable");
    expect(await traits(world, agent)).toContain("COMPUTE_STATUS_DISABLED");
    agent.http.fault = () => "refused";
    world.store.services.update(service?.id ?? 0, { disabled: false });
    await agent.tracker.setHostEnabled(true, "req-enable");
    expect(world.logged("warn", "could not be removed")).toBe(1);
    agent.http.fault = () => undefined;
    expect(await traits(world, agent)).toContain("COMPUTE_STATUS_DISABLED");
    await pass(agent);
    expect(await traits(world, agent)).not.toContain("COMPUTE_STATUS_DISABLED");
  });

  test("2.5 no nodes yet: a warning", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.agent("h1", new StubHypervisor("n1"));
    await agent.tracker.setHostEnabled(false, "req-disable");
    expect(world.logged("warn", "nothing to enable or disable")).toBe(1);
  });

  test("4.7 no Service row: an error, and the trait stays as it is", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    await agent.tracker.setHostEnabled(false, "req-disable");
    agent.session.fail = () => undefined;
    const call = agent.session.call.bind(agent.session);
    agent.session.call = async (method, params) =>
      method === "service_get_by_host" ? (null as never) : call(method, params);
    await pass(agent);
    expect(world.logged("error", "the compute service has no row")).toBe(1);
    expect(await traits(world, agent)).toContain("COMPUTE_STATUS_DISABLED");
  });
});

describe("2.1 step 5 binding", () => {
  test("another service is ComputeServiceInUse, another host's ServiceNotUnique", async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const service = world.store.services.getByHost("h1", "nova-compute");
    if (!service) {
      throw new TypeError("no service");
    }
    agent.tracker.bindService(service);
    expect(() => agent.tracker.bindService({ ...service, id: 99 })).toThrow("restart the agent");
    expect(() => agent.tracker.bindService({ ...service, host: "h2" })).toThrow(
      expect.objectContaining({ name: "ServiceNotUnique" }),
    );
  });
});
