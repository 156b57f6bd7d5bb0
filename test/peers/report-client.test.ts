import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { editedAllocations, reshapeAllocations } from "../../src/placement-client/flush.js";
import type { PlacementRequestEvent } from "../../src/placement-client/placement-http.js";
import type { ReportClient } from "../../src/placement-client/report-client.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { reportClientOf } from "../fixtures/world/report-client.js";
import { placementOfTests } from "./placement/placement-of-tests.js";

function inventoryOf(total: number) {
  return {
    total,
    reserved: 0,
    minUnit: 1,
    maxUnit: total,
    stepSize: 1,
    allocationRatio: 1,
  };
}
const INVENTORY = { VCPU: inventoryOf(8), MEMORY_MB: inventoryOf(4096), DISK_GB: inventoryOf(100) };
const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
const TRAITS = ["COMPUTE_NODE", "OWNER_NOVA"];

describe("report client and Debian's real Placement", () => {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const real = placementOfTests();
  let sent: PlacementRequestEvent[] = [];

  afterAll(async () => {
    await runtime.http.close();
  });

  beforeEach(() => {
    sent = [];
  });

  const newClient = (): ReportClient =>
    reportClientOf(real().url, { ...runtime, observe: (event) => sent.push(event) });
  const taken = (): string[] => sent.splice(0).map(({ method, route }) => `${method} ${route}`);
  const report = async (client: ReportClient, uuid: string, name: string, extra: readonly string[] = []) => {
    const pass = await client.beginPass([uuid]);
    const tree = await client.getProviderTreeAndEnsureRoot(uuid, name, { pass });
    tree.updateInventory(uuid, { ...INVENTORY });
    tree.addTraits(uuid, ...TRAITS, ...extra);
    await client.updateFromProviderTree(tree);
    return tree;
  };
  const claim = (client: ReportClient, consumer: string, provider: string) =>
    client.claimResources({
      consumer,
      request: { allocations: { [provider]: { resources: NEED } } },
      projectId: "project",
      userId: "user",
      version: "1.36",
      held: "double",
    });

  it("5.2 first pass, steady pass and cold cache send no more requests than a recorded nova-compute", async () => {
    const uuid = runtime.random.uuid();
    const client = newClient();
    const tree = await report(client, uuid, "rec1");
    expect(taken()).toEqual([
      "GET /resource_providers",
      "POST /resource_providers",
      "PUT /resource_providers/{uuid}/inventories",
      "GET /traits",
      "PUT /resource_providers/{uuid}/traits",
    ]);
    expect(tree.data(uuid).generation).toBe(2);
    await report(client, uuid, "rec1");
    expect(taken()).toEqual(["GET /resource_providers"]);
    await report(newClient(), uuid, "rec1");
    // The three reads run in parallel.
    expect(taken().sort()).toEqual([
      "GET /resource_providers",
      "GET /resource_providers/{uuid}/aggregates",
      "GET /resource_providers/{uuid}/inventories",
      "GET /resource_providers/{uuid}/traits",
    ]);
  });

  it("5.3, 5.2 conflict: a second client's trait survives the repeated pass", async () => {
    const uuid = runtime.random.uuid();
    const client = newClient();
    await report(client, uuid, "rec1");
    const operator = newClient();
    const { traits, generation } = await operator.getProviderTraits(uuid);
    await operator.setTraitsForProvider(uuid, { traits: [...traits, "CUSTOM_OPERATOR"], generation });
    await expect(report(client, uuid, "rec1", ["STORAGE_DISK_SSD"])).rejects.toMatchObject({
      code: "ResourceProviderUpdateConflict",
    });
    await report(client, uuid, "rec1", ["STORAGE_DISK_SSD"]);
    const after = await operator.getProviderTraits(uuid);
    expect([...after.traits].sort()).toEqual([...TRAITS, "CUSTOM_OPERATOR", "STORAGE_DISK_SSD"].sort());
  });

  it("5.3 duplicate name, inventory in use, V10 deleted provider", async () => {
    const [uuid, other, instance] = [runtime.random.uuid(), runtime.random.uuid(), runtime.random.uuid()];
    const client = newClient();
    await report(client, uuid, "rec1");
    await expect(report(client, other, "rec1")).rejects.toMatchObject({ code: "ResourceProviderCreationFailed" });
    await claim(client, instance, uuid);
    client.clearProviderCache();
    const tree = await client.getProviderTreeAndEnsureRoot(uuid, "rec1");
    const { VCPU: _left, ...rest } = INVENTORY;
    tree.updateInventory(uuid, rest);
    await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "PlacementPciException" });
    expect(
      await newClient().deleteResourceProvider(uuid, { cascade: { instances: [instance], evacuated: [] } }),
    ).toEqual({
      remaining: [],
    });
    await report(client, uuid, "rec1");
    expect((await client.getProviderTraits(uuid)).traits).toEqual(expect.arrayContaining(TRAITS));
  });

  it("5.4: an evacuation's clean-up raises the generation of the destination only", async () => {
    const [source, destination, instance] = [runtime.random.uuid(), runtime.random.uuid(), runtime.random.uuid()];
    const client = newClient();
    await report(client, source, "rec1");
    await report(client, destination, "rec2");
    expect(await claim(client, instance, source)).toBe(true);
    expect(await claim(client, instance, destination)).toBe(true);
    const generations = async () =>
      Promise.all([source, destination].map(async (uuid) => (await client.getAllocationsForProvider(uuid)).generation));
    const [before = 0, beside = 0] = await generations();
    taken();
    expect(await client.removeProviderTreeFromInstanceAllocation(instance, source, { retry: true })).toBe(true);
    expect(taken()).toEqual([
      "GET /allocations/{consumer_uuid}",
      "GET /resource_providers",
      "PUT /allocations/{consumer_uuid}",
    ]);
    expect(await generations()).toEqual([before, beside + 1]);
    const { allocations, consumerGeneration } = await client.getAllocationsForConsumer(instance);
    expect(allocations).toEqual({ [destination]: { resources: NEED, generation: beside + 1 } });
    expect(consumerGeneration).toBe(3);
  });

  it("lean tracking detects a new allocation by the generation, and reads nothing else", async () => {
    const [uuid, instance] = [runtime.random.uuid(), runtime.random.uuid()];
    const client = newClient();
    await report(client, uuid, "rec1");
    const holders = async () => {
      const pass = await client.beginPass([uuid]);
      return [...(await client.getAllocationsForProvider(uuid, { pass })).consumers.keys()];
    };
    taken();
    expect(await holders()).toEqual([]);
    expect(taken()).toEqual(["GET /resource_providers"]);
    await claim(newClient(), instance, uuid);
    taken();
    expect(await holders()).toEqual([instance]);
    expect(taken()).toEqual(["GET /resource_providers", "GET /resource_providers/{uuid}/allocations"]);
  });

  it("5.5, 5.6 claims, moves and deletes of a consumer", async () => {
    const [uuid, instance, migration] = [runtime.random.uuid(), runtime.random.uuid(), runtime.random.uuid()];
    const client = newClient();
    await report(client, uuid, "rec1");
    const query = {
      groups: [{ suffix: "", resources: NEED }],
      rootRequired: ["!COMPUTE_STATUS_DISABLED", "OWNER_NOVA"],
      limit: 1000,
    };
    const candidates = await client.getAllocationCandidates(query);
    expect(candidates?.allocationRequests).toEqual([{ allocations: { [uuid]: { resources: NEED } } }]);
    expect(await claim(client, instance, uuid)).toBe(true);
    expect(await client.moveAllocations(instance, migration)).toBe(true);
    expect(await client.moveAllocations(instance, migration)).toBe(true);
    await client.addResources(migration, { [uuid]: { resources: { VCPU: 1 } } });
    await client.removeResources(migration, { [uuid]: { resources: { VCPU: 1 } } });
    expect(await client.deleteAllocation(migration, { force: false })).toBe(true);
    expect(await client.deleteAllocation(migration, { force: true })).toBe(false);
    const fullAllocations = { [uuid]: { resources: { VCPU: 8 } } };
    const read = await client.getAllocationsForConsumer(migration);
    const write = { read, allocations: fullAllocations, projectId: "project", userId: "user" };
    expect(await client.putAllocations(migration, write)).toBe(true);
    expect(await claim(client, instance, uuid)).toBe(false);
  });

  it("5.7 reshape, flat to nested, with an allocation", async () => {
    const [uuid, child, instance] = [runtime.random.uuid(), runtime.random.uuid(), runtime.random.uuid()];
    const client = newClient();
    await report(client, uuid, "rec1");
    await claim(client, instance, uuid);
    client.clearProviderCache();
    const tree = await client.getProviderTreeAndEnsureRoot(uuid, "rec1");
    const consumers = await client.getAllocationsForProviderTree(uuid);
    const edited = reshapeAllocations(consumers);
    const { VCPU, ...rest } = INVENTORY;
    tree.newChild("rec1_numa0", uuid, child);
    tree.updateInventory(uuid, rest);
    tree.updateInventory(child, { VCPU });
    edited.set(
      instance,
      new Map([
        [uuid, { MEMORY_MB: 512, DISK_GB: 1 }],
        [child, { VCPU: 1 }],
      ]),
    );
    await client.updateFromProviderTree(tree, { reshape: editedAllocations(consumers, edited) });
    expect((await client.getAllocationsForConsumer(instance)).allocations).toMatchObject({
      [uuid]: { resources: { MEMORY_MB: 512, DISK_GB: 1 } },
      [child]: { resources: { VCPU: 1 } },
    });
    taken();
    await client.updateFromProviderTree(await client.getProviderTreeAndEnsureRoot(uuid, "rec1"));
    expect(taken()).toEqual([]);
  });
});
