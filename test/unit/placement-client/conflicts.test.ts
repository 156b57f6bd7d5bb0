import { beforeEach, describe, expect, it } from "vitest";
import { ReshapeFailed } from "../../../src/placement-client/errors.js";
import { editedAllocations, reshapeAllocations } from "../../../src/placement-client/flush.js";
import type { ReportClient } from "../../../src/placement-client/report-client.js";
import type { InventoryRecord, ProviderTree } from "../../../src/virt/provider-tree.js";
import { errorResponse, type Fault, FULL, inventoryOf, NODE_INVENTORY, PlacementBench } from "./bench.js";

const U = "0c289c26-72cd-47eb-9c89-46d9e443a85f";
const CHILD = "1c289c26-72cd-47eb-9c89-46d9e443a85f";
const I = "cccccccc-72cd-47eb-9c89-46d9e443a85f";
const AGGREGATE = "aaaaaaaa-72cd-47eb-9c89-46d9e443a85f";

const CONCURRENT = errorResponse(409, "placement.concurrent_update", "resource provider generation conflict");

describe("5.3 409 table of providers", () => {
  let bench: PlacementBench;
  let client: ReportClient;
  let tree: ProviderTree;

  beforeEach(async () => {
    bench = new PlacementBench();
    client = bench.client();
    tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.updateInventory(U, NODE_INVENTORY);
    await client.updateFromProviderTree(tree);
    bench.mark();
  });

  const change = {
    inventories: () => tree.updateInventory(U, { ...NODE_INVENTORY, VCPU: inventoryOf(16) }),
    aggregates: () => tree.addAggregates(U, AGGREGATE),
    traits: () => tree.addTraits(U, "COMPUTE_NODE"),
  };

  for (const [what, edit] of Object.entries(change)) {
    it(`5.3 rows 2, 3, 5.1 row 1 PUT ${what} generation: ResourceProviderUpdateConflict, the tree is dropped from the cache`, async () => {
      edit();
      bench.inject({ on: `PUT /${what}`, does: CONCURRENT });
      await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({
        code: "ResourceProviderUpdateConflict",
      });
      bench.mark();
      await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      expect(bench.requests()).toHaveLength(4);
    });

    it(`9.4 PUT ${what}, answer lost after commit: the next pass conflicts, reads again, and has nothing to write`, async () => {
      edit();
      bench.inject({ on: `PUT /${what}`, does: "lose" });
      await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ConnectFailure" });
      tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      edit();
      await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({
        code: "ResourceProviderUpdateConflict",
      });
      tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      edit();
      bench.mark();
      await client.updateFromProviderTree(tree);
      expect(bench.requests()).toEqual([]);
    });

    it(`5.1 row 2 PUT ${what} rejected for another reason: ResourceProviderSyncFailed, the tree is dropped from the cache`, async () => {
      edit();
      bench.inject({ on: `PUT /${what}`, does: errorResponse(500, "", "broken") });
      await expect(client.updateFromProviderTree(tree)).rejects.toThrow(/broken/);
      bench.mark();
      await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      expect(bench.requests()).toHaveLength(4);
    });
  }

  it("9.4 POST /resource_providers, answer lost after commit: the next pass finds it", async () => {
    const other = bench.client();
    bench.inject({ on: "POST /resource_providers", does: "lose" });
    await expect(other.getProviderTreeAndEnsureRoot(CHILD, "devstack2")).rejects.toMatchObject({
      code: "ConnectFailure",
    });
    bench.mark();
    const found = await other.getProviderTreeAndEnsureRoot(CHILD, "devstack2");
    expect(found.data(CHILD).generation).toBe(0);
    expect(bench.requests().some((request) => request.startsWith("POST"))).toBe(false);
  });

  it("9.4 DELETE of a removed child, answer lost after commit: the next pass finds it gone", async () => {
    tree.newChild("devstack1_pci", U, CHILD);
    await client.updateFromProviderTree(tree);
    tree.remove(CHILD);
    bench.inject({ on: "DELETE /resource_providers", does: "lose" });
    await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ConnectFailure" });
    await client.updateFromProviderTree(tree);
    expect(await bench.ask("GET", `/resource_providers?in_tree=${U}`, "1.14")).toMatchObject({
      resource_providers: [{ uuid: U }],
    });
  });

  it("5.3 row 2, 5.1 row 3 PUT inventories in use: PlacementPciException, nothing is invalidated", async () => {
    await claim(client, { VCPU: 1 });
    client.clearProviderCache();
    tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.updateInventory(U, { MEMORY_MB: inventoryOf(4096), DISK_GB: inventoryOf(100) });
    const rejectedUpdate = client.updateFromProviderTree(tree);
    await expect(rejectedUpdate).rejects.toMatchObject({ code: "PlacementPciException" });
    await expect(rejectedUpdate).rejects.toThrow(/VCPU/);
    bench.mark();
    await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(bench.requests()).toEqual([]);
  });

  it("5.3 row 4 DELETE provider in use: ResourceProviderSyncFailed names it, the others are still written", async () => {
    tree.newChild("devstack1_pci", U, CHILD);
    tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
    await client.updateFromProviderTree(tree);
    await bench.ask("PUT", `/allocations/${I}`, "1.28", write({ [CHILD]: { resources: { VGPU: 1 } } }));
    tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.remove(CHILD);
    tree.addTraits(U, "COMPUTE_NODE");
    const rejectedUpdate = client.updateFromProviderTree(tree);
    await expect(rejectedUpdate).rejects.toMatchObject({ code: "ResourceProviderSyncFailed" });
    await expect(rejectedUpdate).rejects.toThrow(CHILD);
    expect(await bench.ask("GET", `/resource_providers/${U}/traits`)).toMatchObject({ traits: ["COMPUTE_NODE"] });
  });

  it("400 on PUT inventories, invalid class name: InvalidResourceClass inside ResourceProviderSyncFailed", async () => {
    tree.updateInventory(U, { ...NODE_INVENTORY, CUSTOM_lower: inventoryOf(1) });
    const rejectedUpdate = client.updateFromProviderTree(tree);
    await expect(rejectedUpdate).rejects.toThrow(/CUSTOM_lower/);
    await expect(rejectedUpdate).rejects.toHaveProperty(
      "cause",
      expect.objectContaining({ code: "InvalidResourceClass" }),
    );
  });

  it("a failing provider does not prevent writes of the others", async () => {
    tree.newChild("devstack1_pci", U, CHILD);
    tree.addTraits(CHILD, "lower case");
    tree.addTraits(U, "COMPUTE_NODE");
    await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ResourceProviderSyncFailed" });
    expect(await bench.ask("GET", `/resource_providers/${U}/traits`)).toMatchObject({ traits: ["COMPUTE_NODE"] });
  });

  it("5.3 row 7 a trait deleted from Placement meanwhile is checked again after the rejection", async () => {
    tree.addTraits(U, "CUSTOM_GONE");
    await client.updateFromProviderTree(tree);
    tree.removeTraits(U, "CUSTOM_GONE");
    await client.updateFromProviderTree(tree);
    await bench.ask("DELETE", "/traits/CUSTOM_GONE");
    tree.addTraits(U, "CUSTOM_GONE");
    await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ResourceProviderSyncFailed" });
    tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.addTraits(U, "CUSTOM_GONE");
    await client.updateFromProviderTree(tree);
    expect(await bench.ask("GET", `/resource_providers/${U}/traits`)).toMatchObject({ traits: ["CUSTOM_GONE"] });
  });

  describe("5.7 reshape, flat to nested", () => {
    beforeEach(async () => {
      await claim(client, { VCPU: 2, MEMORY_MB: 512 });
      client.clearProviderCache();
    });

    const reshape = async (more: Readonly<Record<string, InventoryRecord>> = {}) => {
      tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      const consumers = await client.getAllocationsForProviderTree(U);
      const edited = reshapeAllocations(consumers);
      tree.newChild("devstack1_numa0", U, CHILD);
      const { VCPU, ...rest } = NODE_INVENTORY;
      tree.updateInventory(U, rest);
      tree.updateInventory(CHILD, { VCPU, ...more });
      edited.set(
        I,
        new Map([
          [U, { MEMORY_MB: 512 }],
          [CHILD, { VCPU: 2 }],
        ]),
      );
      await client.updateFromProviderTree(tree, { reshape: editedAllocations(consumers, edited) });
    };

    it("moves inventory and allocations in one request, and the next pass has nothing to write", async () => {
      await reshape();
      expect(bench.sent.find(({ path }) => path === "/reshaper")).toMatchObject({
        version: "1.30",
        body: { allocations: { [I]: { consumer_generation: 1, project_id: "project", user_id: "user" } } },
      });
      expect(await bench.ask("GET", `/allocations/${I}`)).toMatchObject({
        allocations: { [U]: { resources: { MEMORY_MB: 512 } }, [CHILD]: { resources: { VCPU: 2 } } },
      });
      bench.mark();
      await client.updateFromProviderTree(await client.getProviderTreeAndEnsureRoot(U, "devstack1"));
      expect(bench.requests()).toEqual([]);
    });

    it("creates the classes that Placement does not have yet", async () => {
      await reshape({ CUSTOM_LANE: inventoryOf(2) });
      expect(await bench.ask("GET", `/resource_providers/${CHILD}/inventories`)).toMatchObject({
        inventories: { CUSTOM_LANE: { total: 2 } },
      });
    });

    it("5.3 row 5, 5.1 row 4 POST /reshaper concurrent_update: PlacementReshapeConflict, the complete cache is dropped; the redrive succeeds", async () => {
      bench.inject({
        on: "POST /reshaper",
        does: () => claim(bench.client(), { VCPU: 1 }, "dddddddd-72cd-47eb-9c89-46d9e443a85f"),
      });
      await expect(reshape()).rejects.toMatchObject({ code: "PlacementReshapeConflict" });
      bench.mark();
      tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      expect(bench.requests()[0]).toContain("in_tree");
    });

    it("5.3 row 5 POST /reshaper rejected for another reason: ReshapeFailed", async () => {
      bench.inject({
        on: "POST /reshaper",
        does: FULL,
      });
      await expect(reshape()).rejects.toThrow(ReshapeFailed);
    });

    it("a new provider that cannot be created: ReshapeFailed, nothing is moved", async () => {
      bench.inject({
        on: "POST /resource_providers",
        does: errorResponse(409, "", "Conflicting resource provider name: x"),
      });
      await expect(reshape()).rejects.toThrow(ReshapeFailed);
      expect(bench.requests().some((request) => request.includes("/reshaper"))).toBe(false);
    });
  });

  async function claim(by: ReportClient, resources: Record<string, number>, consumer = I): Promise<void> {
    const request = { allocations: { [U]: { resources } } };
    await by.claimResources({
      consumer,
      request,
      projectId: "project",
      userId: "user",
      version: "1.36",
      held: "double",
    });
  }
});

function write(allocations: object) {
  return {
    allocations,
    project_id: "project",
    user_id: "user",
    consumer_generation: null,
  };
}

describe("transport and authentication", () => {
  const cases: readonly (readonly [string, Fault["does"], string, number?])[] = [
    ["refused connection", "refuse", "ConnectFailure"],
    ["401 twice", errorResponse(401, "", "token"), "Unauthorized", 2],
    ["an answer that is not JSON", { status: 200, body: "<html>" }, "DiscoveryFailure"],
    ["JSON of another service", { status: 200, body: '{"versions": []}' }, "DiscoveryFailure"],
  ];

  for (const [what, does, name, times = 1] of cases) {
    it(`${what}: ${name}, a PlacementAPIConnectFailure, and the next pass succeeds`, async () => {
      const bench = new PlacementBench();
      const client = bench.client();
      bench.inject({ on: "GET /resource_providers", does, times });
      await expect(client.getProviderTreeAndEnsureRoot(U, "devstack1")).rejects.toMatchObject({ name });
      const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
      expect(tree.data(U).generation).toBe(0);
    });
  }

  it("safe methods return null and warn at most every 10th time", async () => {
    const bench = new PlacementBench();
    const client = bench.client();
    bench.inject({ on: "DELETE /allocations", does: "refuse", times: 21 });
    for (let index = 0; index < 21; index += 1) {
      expect(await client.deleteAllocation(I, { force: true })).toBeNull();
    }
    expect(bench.logs.filter(({ level }) => level === "warn")).toHaveLength(3);
  });
});
