import type { Instance, Migration, NewInstance } from "../../../../src/records/index.js";
import { StubHypervisor } from "../../../fixtures/tracker-driver.js";
import { type AgentOptions, type TestAgent, TrackerWorld } from "../../../fixtures/tracker-world.js";

export interface Setting {
  readonly world: TrackerWorld;
  readonly agent: TestAgent;
}

/** Creates host h1 with nodes n1 and n2, and h0 with n0. */
export async function twoNodes(options: AgentOptions = {}): Promise<Setting> {
  const world = await TrackerWorld.create();
  const hypervisor = new StubHypervisor();
  for (const name of ["n1", "n2"]) {
    hypervisor.nodes.set(name, { vcpus: 8, memoryMb: 8192, localGb: 40, uuid: world.runtime.random.uuid() });
  }
  await world.startedAgent("h0", new StubHypervisor("n0"));
  return { world, agent: await world.startedAgent("h1", hypervisor, options) };
}

export function row({ world }: Setting, name: string, host = "h1") {
  const found = world.store.computeNodes.getByHostAndNode(host, name);
  if (!found) {
    throw new TypeError(`no node ${name}`);
  }
  return found;
}

export function on(setting: Setting, host: string, node: string, changes: Partial<NewInstance> = {}): Instance {
  const place = { host, node, computeId: row(setting, node, host).id, launchedOn: host };
  return setting.world.instance({ vmState: "active", taskState: null, powerState: 1, ...place, ...changes });
}

export function migrated(
  { world }: Setting,
  { uuid, instanceTypeId }: Instance,
  changes: Partial<Migration> = {},
): Migration {
  const { migrationType = "evacuation", status = "accepted", ...ends } = changes;
  const flavors = { oldInstanceTypeId: instanceTypeId, newInstanceTypeId: instanceTypeId };
  const source = { sourceCompute: "h0", sourceNode: "n0", ...flavors };
  return world.store.migrations.create({
    instanceUuid: uuid,
    migrationType,
    status,
    changes: { ...source, ...ends },
  });
}

export function counts(setting: Setting, name = "n2") {
  const { vcpusUsed, memoryMbUsed, runningVms } = row(setting, name);
  return { vcpusUsed, memoryMbUsed, runningVms };
}

/** Creates an evacuation that h1 has claimed. */
export async function evacuation(setting: Setting) {
  const vm = on(setting, "h0", "n0", { taskState: "rebuilding" });
  const migration = migrated(setting, vm);
  return { vm, migration, claim: () => setting.agent.tracker.rebuildClaim(vm, "n2", migration, {}) };
}

export async function resize(setting: Setting) {
  const vm = on(setting, "h0", "n0", { taskState: "resize_prep" });
  const migration = migrated(setting, vm, { migrationType: "resize" });
  const bigger = setting.world.flavor({ vcpus: 3 });
  return { vm, migration, claim: () => setting.agent.tracker.resizeClaim(vm, "n2", migration, bigger, {}) };
}

/** Adds one discrete resource to node n2; returns the allocations of a claim of it. */
export async function addItem({ agent, ...setting }: Setting) {
  agent.hypervisor.editTree = (tree, node) => {
    if (node === "n2") {
      const unit = { reserved: 0, minUnit: 1, stepSize: 1, allocationRatio: 1 };
      tree.updateInventory(node, { CUSTOM_ITEM: { ...unit, total: 1, maxUnit: 1 } });
      tree.updateResources(node, { CUSTOM_ITEM: ["item-1"] });
    }
  };
  await agent.tracker.updateAvailableResource({ startup: false });
  return { [row({ agent, ...setting }, "n2").uuid]: { resources: { CUSTOM_ITEM: 1 } } };
}
