import { beforeEach, describe, expect, it } from "vitest";
import { PlacementError } from "../../../src/placement-client/errors.js";
import type { ReportClient } from "../../../src/placement-client/report-client.js";
import { ENDPOINT, inventoryOf, NODE_INVENTORY, PlacementBench } from "./bench.js";

const U = "0c289c26-72cd-47eb-9c89-46d9e443a85f";
const CHILD = "1c289c26-72cd-47eb-9c89-46d9e443a85f";
const SHARING = "2c289c26-72cd-47eb-9c89-46d9e443a85f";
const AGGREGATE = "aaaaaaaa-72cd-47eb-9c89-46d9e443a85f";
const NAMES = { [U]: "U", [CHILD]: "CHILD", [SHARING]: "SHARING", [AGGREGATE]: "AGG" };

describe("5.2 request sequences of one node pass", () => {
  let bench: PlacementBench;
  let client: ReportClient;

  beforeEach(() => {
    bench = new PlacementBench();
    client = bench.client();
  });

  const report = async (reporter: ReportClient, traits = ["COMPUTE_NODE"], inventory: object = NODE_INVENTORY) => {
    const tree = await reporter.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.updateInventory(U, { ...inventory });
    tree.addTraits(U, ...traits);
    await reporter.updateFromProviderTree(tree);
    return tree;
  };

  it("first pass, nothing exists: creates, then writes inventory and traits with rising generations", async () => {
    const tree = await report(client, ["COMPUTE_NODE", "CUSTOM_T"], { ...NODE_INVENTORY, CUSTOM_X: inventoryOf(1) });
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers?in_tree=U 1.14",
      "POST /resource_providers 1.20",
      "PUT /resource_classes/CUSTOM_X 1.7",
      "PUT /resource_providers/U/inventories 1.26",
      "GET /traits?name=in:COMPUTE_NODE,CUSTOM_T 1.6",
      "PUT /traits/CUSTOM_T 1.6",
      "PUT /resource_providers/U/traits 1.6",
    ]);
    expect(bench.sent[1]?.body).toEqual({ uuid: U, name: "devstack1" });
    expect(bench.sent[3]?.body).toMatchObject({
      resource_provider_generation: 0,
      inventories: { VCPU: { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 } },
    });
    expect(bench.sent[6]?.body).toEqual({ resource_provider_generation: 1, traits: ["COMPUTE_NODE", "CUSTOM_T"] });
    expect(tree.data(U).generation).toBe(2);
  });

  it("existing provider, cold cache: reads the tree and its associations, writes nothing", async () => {
    await report(client);
    bench.mark();
    await report(bench.client());
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers?in_tree=U 1.14",
      "GET /resource_providers/U/inventories",
      "GET /resource_providers/U/aggregates 1.19",
      "GET /resource_providers/U/traits 1.6",
    ]);
  });

  it("5.1 row 7 the catalogue has no Placement any more: everything is read again when it is back", async () => {
    let lost = false;
    const watched = bench.client(
      {},
      {
        credentials: async () => {
          if (lost) {
            throw new PlacementError("EndpointNotFound", "no placement in the catalogue");
          }
          return { endpoint: ENDPOINT, headers: { "x-auth-token": "admin" } };
        },
        expire: () => undefined,
      },
    );
    await report(watched);
    lost = true;
    await expect(watched.getAllocationsForConsumer(U)).rejects.toMatchObject({ name: "EndpointNotFound" });
    lost = false;
    bench.mark();
    await report(watched);
    expect(bench.requests(NAMES)[0]).toBe("GET /resource_providers?in_tree=U 1.14");
    expect(bench.requests(NAMES)).toHaveLength(4);
  });

  it("5.2 steady pass: sends nothing; a known custom class and known traits are not checked again", async () => {
    await report(client);
    bench.mark();
    await report(client);
    expect(bench.requests()).toEqual([]);
    await report(client, ["HW_CPU_X86_AVX"]);
    await report(client, ["COMPUTE_NODE"]);
    expect(bench.requests(NAMES)).toEqual([
      "GET /traits?name=in:HW_CPU_X86_AVX 1.6",
      "PUT /resource_providers/U/traits 1.6",
    ]);
  });

  it("root stale after resource_provider_association_refresh: the tree and all associations again", async () => {
    await report(client);
    bench.mark();
    bench.advance(300_000);
    await report(client);
    expect(bench.requests()).toEqual([]);
    bench.advance(1);
    await report(client);
    expect(bench.requests(NAMES)).toHaveLength(4);
    expect(bench.requests(NAMES)[0]).toBe("GET /resource_providers?in_tree=U 1.14");
  });

  it("resource_provider_association_refresh 0: never stale once loaded", async () => {
    const never = bench.client({ associationRefresh: 0 });
    await report(never);
    bench.mark();
    bench.advance(10 ** 9);
    await report(never);
    expect(bench.requests()).toEqual([]);
  });

  it("child providers: created top-down, written bottom-up, removed bottom-up", async () => {
    await report(client);
    bench.mark();
    const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.newChild("devstack1_pci", "devstack1", CHILD);
    tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
    tree.addTraits(CHILD, "OWNER_NOVA", "CUSTOM_A");
    tree.addTraits(U, "CUSTOM_B");
    await client.updateFromProviderTree(tree);
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers?in_tree=CHILD 1.14",
      "POST /resource_providers 1.20",
      "PUT /resource_providers/CHILD/inventories 1.26",
      "GET /traits?name=in:OWNER_NOVA,CUSTOM_A 1.6",
      "PUT /traits/CUSTOM_A 1.6",
      "PUT /resource_providers/CHILD/traits 1.6",
      "GET /traits?name=in:CUSTOM_B 1.6",
      "PUT /traits/CUSTOM_B 1.6",
      "PUT /resource_providers/U/traits 1.6",
    ]);
    expect(bench.sent[1]?.body).toEqual({ uuid: CHILD, name: "devstack1_pci", parent_provider_uuid: U });

    bench.mark();
    const less = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    less.remove(CHILD);
    await client.updateFromProviderTree(less);
    expect(bench.requests(NAMES)).toEqual(["DELETE /resource_providers/CHILD"]);
    bench.mark();
    await report(client);
    expect(bench.requests()).toEqual([]);
  });

  it("a child created by an earlier interrupted pass is found, not created again", async () => {
    await report(client);
    await bench.ask("POST", "/resource_providers", "1.20", {
      uuid: CHILD,
      name: "devstack1_pci",
      parent_provider_uuid: U,
    });
    const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    tree.newChild("devstack1_pci", U, CHILD);
    bench.mark();
    await client.updateFromProviderTree(tree);
    expect(bench.requests(NAMES).filter((request) => request.startsWith("POST"))).toEqual([]);
    expect(tree.data(CHILD).generation).toBe(0);
  });

  it("sharing providers come with the tree, are read once for all nodes, and are not written", async () => {
    await report(client);
    await bench.ask("POST", "/resource_providers", "1.20", { uuid: SHARING, name: "nfs" });
    await bench.ask("PUT", `/resource_providers/${SHARING}/inventories`, "1.26", {
      resource_provider_generation: 0,
      inventories: { DISK_GB: { total: 1000 } },
    });
    await bench.ask("PUT", `/resource_providers/${SHARING}/traits`, "1.6", {
      resource_provider_generation: 1,
      traits: ["MISC_SHARES_VIA_AGGREGATE"],
    });
    for (const [uuid, generation] of [
      [SHARING, 2],
      [U, 2],
    ] as const) {
      await bench.ask("PUT", `/resource_providers/${uuid}/aggregates`, "1.19", {
        resource_provider_generation: generation,
        aggregates: [AGGREGATE],
      });
    }
    const other = bench.client();
    bench.mark();
    const tree = await other.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(bench.requests(NAMES).slice(4)).toEqual([
      "GET /resource_providers?member_of=in:AGG&required=MISC_SHARES_VIA_AGGREGATE 1.18",
      "GET /resource_providers/SHARING/inventories",
      "GET /resource_providers/SHARING/aggregates 1.19",
      "GET /resource_providers/SHARING/traits 1.6",
    ]);
    expect(tree.roots).toEqual([U, SHARING]);
    expect(tree.data("nfs").inventory.DISK_GB?.total).toBe(1000);
    bench.mark();
    await other.updateFromProviderTree(tree);
    expect(bench.requests()).toEqual([]);

    await bench.ask("PUT", `/resource_providers/${SHARING}/inventories`, "1.26", {
      resource_provider_generation: 3,
      inventories: { DISK_GB: { total: 2000 } },
    });
    tree.addTraits(SHARING, "STORAGE_DISK_SSD");
    await expect(other.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ResourceProviderUpdateConflict" });
    const redriven = await other.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(redriven.data("nfs").inventory.DISK_GB?.total).toBe(2000);
  });

  it("5.1 row 6, 5.2 only a child stale: just its associations", async () => {
    const tree = await report(client);
    tree.newChild("devstack1_pci", U, CHILD);
    await client.updateFromProviderTree(tree);
    client.invalidateAssociations(CHILD);
    bench.mark();
    await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(bench.requests(NAMES)).toEqual([
      "GET /resource_providers/CHILD/inventories",
      "GET /resource_providers/CHILD/aggregates 1.19",
      "GET /resource_providers/CHILD/traits 1.6",
    ]);
  });

  it("requests sharing providers with at most sharing_providers_max_uuids_per_request aggregates at a time", async () => {
    const aggregates = Array.from({ length: 5 }, (_, index) => `${index}${AGGREGATE.slice(1)}`);
    const tree = await report(client);
    tree.updateAggregates(U, aggregates);
    await client.updateFromProviderTree(tree);
    bench.mark();
    await bench.client({ sharingProvidersMaxUuidsPerRequest: 2 }).getProviderTreeAndEnsureRoot(U, "devstack1");
    const batchSizes = bench.sent
      .filter(({ path }) => path.includes("member_of"))
      .map(({ path }) => path.split(",").length);
    expect(batchSizes).toEqual([2, 2, 1]);
  });

  it("conflict: the tree is dropped, the next attempt reads all of it again and retains another client's writes", async () => {
    const tree = await report(client);
    await bench.ask("PUT", `/resource_providers/${U}/traits`, "1.6", {
      resource_provider_generation: 2,
      traits: ["COMPUTE_NODE", "STORAGE_DISK_SSD"],
    });
    tree.updateInventory(U, { ...NODE_INVENTORY, VCPU: inventoryOf(16) });
    await expect(client.updateFromProviderTree(tree)).rejects.toMatchObject({ code: "ResourceProviderUpdateConflict" });
    bench.mark();
    const again = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(bench.requests(NAMES)[0]).toBe("GET /resource_providers?in_tree=U 1.14");
    again.updateInventory(U, { ...NODE_INVENTORY, VCPU: inventoryOf(16) });
    await client.updateFromProviderTree(again);
    expect(await bench.ask("GET", `/resource_providers/${U}/traits`)).toMatchObject({
      traits: expect.arrayContaining(["STORAGE_DISK_SSD"]),
    });
    expect(again.data(U).generation).toBe(4);
  });

  it("sends the operation's request id and its own name", async () => {
    await client.getProviderTreeAndEnsureRoot(U, "devstack1", { requestId: "req-42" });
    expect(bench.sent[0]?.headers).toMatchObject({
      accept: "application/json",
      "x-openstack-request-id": "req-42",
      "user-agent": "nova-compute compute-agent",
      "x-auth-token": "admin",
    });
    expect(bench.sent[1]?.headers["content-type"]).toBe("application/json");
  });

  it("a provider deleted by another client is created again once its tree is read again", async () => {
    await report(client);
    await bench.ask("DELETE", `/resource_providers/${U}`);
    bench.advance(300_001);
    bench.mark();
    await report(client);
    expect(bench.requests(NAMES)).toContain("POST /resource_providers 1.20");
    expect(await bench.ask("GET", `/resource_providers/${U}/inventories`)).toMatchObject({
      inventories: { VCPU: { total: 8 } },
    });
  });

  it("5.3 row 1 POST /resource_providers duplicate name: the error names the owner and what to do", async () => {
    await bench.ask("POST", "/resource_providers", "1.20", { uuid: CHILD, name: "devstack1" });
    const failed = client.getProviderTreeAndEnsureRoot(U, "devstack1");
    await expect(failed).rejects.toMatchObject({ code: "ResourceProviderCreationFailed" });
    await expect(failed).rejects.toThrow(/devstack1.*resource provider list --name devstack1/);
  });

  it("5.3 row 1 POST /resource_providers duplicate uuid: uses the provider that another client has just created", async () => {
    bench.inject({
      on: "POST /resource_providers",
      does: async () => {
        await bench.ask("POST", "/resource_providers", "1.20", { uuid: U, name: "devstack1" });
      },
    });
    const tree = await client.getProviderTreeAndEnsureRoot(U, "devstack1");
    expect(tree.data(U).generation).toBe(0);
    expect(bench.requests(NAMES)).toContain("GET /resource_providers/U 1.14");
  });
});
