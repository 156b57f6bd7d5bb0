import { beforeEach, describe, expect, it } from "vitest";
import type { ReportClient } from "../../../src/placement-client/report-client.js";
import { NODE_INVENTORY, PlacementBench } from "./bench.js";

const U = "0c289c26-72cd-47eb-9c89-46d9e443a85f";
const CHILD = "1c289c26-72cd-47eb-9c89-46d9e443a85f";
const I = "cccccccc-72cd-47eb-9c89-46d9e443a85f";
const NAMES = { [U]: "U", [CHILD]: "CHILD", [I]: "I" };

describe("lean tracking", () => {
  let bench: PlacementBench;
  let client: ReportClient;

  beforeEach(async () => {
    bench = new PlacementBench();
    client = bench.client();
    await node(client, U, "devstack1");
    bench.mark();
  });

  it("unchanged pass: one listing; the consumers are known since the provider was created or read", async () => {
    await node(client, U, "devstack1");
    expect(bench.requests(NAMES)).toEqual(["GET /resource_providers?in_tree=U 1.14"]);
    client.clearProviderCache();
    for (let pass = 0; pass < 2; pass += 1) {
      await node(client, U, "devstack1");
    }
    bench.mark();
    await node(client, U, "devstack1");
    expect(bench.requests(NAMES)).toEqual(["GET /resource_providers?in_tree=U 1.14"]);
  });

  it("cold cache: the listing serves as the tree, so nothing is listed twice", async () => {
    await node(bench.client(), U, "devstack1");
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers?in_tree=U 1.14",
      "GET /resource_providers/U/allocations",
      "GET /resource_providers/U/inventories",
      "GET /resource_providers/U/aggregates 1.19",
      "GET /resource_providers/U/traits 1.6",
    ]);
  });

  it("a new allocation raises the generation, so the next pass notices it", async () => {
    await node(client, U, "devstack1");
    await claim(I);
    bench.mark();
    expect(await node(client, U, "devstack1")).toEqual([I]);
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers?in_tree=U 1.14",
      "GET /resource_providers/U/allocations",
    ]);
    bench.mark();
    expect(await node(client, U, "devstack1")).toEqual([I]);
    expect(bench.requests(NAMES)).toHaveLength(1);
  });

  it("5.4 a removed allocation raises none: the cached consumer remains until it is checked, then is removed", async () => {
    await claim(I);
    await node(client, U, "devstack1");
    await bench.ask("DELETE", `/allocations/${I}`);
    expect(await node(client, U, "devstack1")).toEqual([I]);
    expect(await client.deleteAllocation(I, { force: false })).toBe(false);
    bench.mark();
    expect(await node(client, U, "devstack1")).toEqual([]);
    expect(bench.requests(NAMES)).toHaveLength(1);
  });

  it("removes a consumer from the cache when its tree was removed from its allocations", async () => {
    await claim(I);
    await node(client, U, "devstack1");
    expect(await client.removeProviderTreeFromInstanceAllocation(I, U, { retry: false })).toBe(true);
    expect(await node(client, U, "devstack1")).toEqual([]);
  });

  it("its own writes require no reading", async () => {
    await node(client, U, "devstack1");
    bench.mark();
    await node(client, U, "devstack1", ["COMPUTE_NODE", "STORAGE_DISK_SSD"]);
    await node(client, U, "devstack1", ["COMPUTE_NODE", "STORAGE_DISK_SSD"]);
    expect(bench.requests(NAMES).filter((request) => request.includes("allocations"))).toEqual([]);
  });

  it("its own write after another client's allocation does not hide that allocation", async () => {
    await node(client, U, "devstack1");
    const pass = await client.beginPass([U]);
    await claim(I);
    await client.setTraitsForProvider(U, { traits: ["COMPUTE_NODE", "STORAGE_DISK_SSD"], generation: 3 });
    expect((await client.getAllocationsForProvider(U, { pass })).consumers.size).toBe(0);
    expect(await node(client, U, "devstack1", ["COMPUTE_NODE", "STORAGE_DISK_SSD"])).toEqual([I]);
  });

  it("associations are re-read every resource_provider_association_refresh: aggregates below 1.19 raise no generation", async () => {
    await node(client, U, "devstack1");
    await bench.ask("PUT", `/resource_providers/${U}/aggregates`, "1.18", ["aaaaaaaa-72cd-47eb-9c89-46d9e443a85f"]);
    const before = await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass: await client.beginPass([U]) });
    expect(before.data(U).aggregates.size).toBe(0);
    bench.advance(300_001);
    const after = await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass: await client.beginPass([U]) });
    expect(after.data(U).aggregates.size).toBe(1);
  });

  it("V10 a provider deleted by another client is created again in the next pass", async () => {
    await bench.ask("DELETE", `/resource_providers/${U}`);
    bench.mark();
    await node(client, U, "devstack1");
    expect(bench.requests(NAMES)).toContain("POST /resource_providers 1.20");
    expect(await bench.ask("GET", `/resource_providers/${U}/inventories`)).toMatchObject({ inventories: { VCPU: {} } });
  });

  it("a child added by another client is noticed in the next pass", async () => {
    await bench.ask("POST", "/resource_providers", "1.20", { uuid: CHILD, name: "agent_vf", parent_provider_uuid: U });
    const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass: await client.beginPass([U]) });
    expect(tree.exists("agent_vf")).toBe(true);
    bench.mark();
    await client.updateFromProviderTree(tree);
    expect(bench.requests()).toEqual([]);
  });

  it("a redrive after a conflict lists again: the listing of the pass is outdated", async () => {
    const pass = await client.beginPass([U]);
    const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass });
    await bench.ask("PUT", `/resource_providers/${U}/traits`, "1.6", {
      resource_provider_generation: 2,
      traits: [],
    });
    tree.addTraits(U, "STORAGE_DISK_SSD");
    await expect(client.updateFromProviderTree(tree)).rejects.toThrow("changed meanwhile");
    bench.mark();
    await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass });
    await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass });
    expect(bench.requests(NAMES)).toHaveLength(4);
    client.invalidateResourceProvider(U);
    bench.mark();
    await client.getProviderTreeAndEnsureRoot(U, "devstack1", { pass });
    expect(bench.requests(NAMES)[0]).toBe("GET /resource_providers?in_tree=U 1.14");
  });

  it("many nodes: one unfiltered listing for an unchanged pass over all of them", async () => {
    const nodes = Array.from({ length: 300 }, (_, index) => `${String(index).padStart(8, "0")}${U.slice(8)}`);
    const pass = async () => {
      const listing = await client.beginPass(nodes);
      for (const uuid of nodes) {
        await client.getAllocationsForProvider(uuid, { pass: listing }).catch(() => undefined);
        const tree = await client.getProviderTreeAndEnsureRoot(uuid, `node-${uuid}`, { pass: listing });
        tree.updateInventory(uuid, NODE_INVENTORY);
        tree.addTraits(uuid, "COMPUTE_NODE");
        await client.updateFromProviderTree(tree);
      }
    };
    await pass();
    expect(bench.sent.filter(({ path }) => path.startsWith("/traits"))).toHaveLength(0);
    await pass();
    bench.mark();
    await pass();
    expect(bench.requests()).toEqual(["GET /resource_providers 1.14"]);
  });

  async function node(by: ReportClient, uuid: string, name: string, traits = ["COMPUTE_NODE"]): Promise<string[]> {
    const pass = await by.beginPass([uuid]);
    const held = pass.members(uuid)?.length === 0 ? undefined : await by.getAllocationsForProvider(uuid, { pass });
    const tree = await by.getProviderTreeAndEnsureRoot(uuid, name, { pass });
    tree.updateInventory(uuid, { ...NODE_INVENTORY });
    tree.updateTraits(uuid, traits);
    await by.updateFromProviderTree(tree);
    return [...(held?.consumers.keys() ?? [])];
  }

  async function claim(consumer: string): Promise<void> {
    await bench.ask("PUT", `/allocations/${consumer}`, "1.28", {
      allocations: { [U]: { resources: { VCPU: 1 } } },
      project_id: "project",
      user_id: "user",
      consumer_generation: null,
    });
  }
});
