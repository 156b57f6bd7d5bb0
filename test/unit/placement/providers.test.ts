import { beforeEach, describe, expect, it } from "vitest";
import type { ReportClient } from "../../../src/placement/report-client.js";
import type { Allocations } from "../../../src/placement/types.js";
import { inventoryOf, NODE_INVENTORY, PlacementBench, refusal } from "./bench.js";

const S = "00000000-0000-4000-8000-000000000001";
const D = "00000000-0000-4000-8000-000000000002";
const NFS = "00000000-0000-4000-8000-000000000003";
const CHILD = "00000000-0000-4000-8000-000000000004";
const I = "cccccccc-0000-4000-8000-000000000001";
const M = "cccccccc-0000-4000-8000-000000000002";
const NAMES = { [S]: "S", [D]: "D", [NFS]: "NFS", [I]: "I", [M]: "M" };

const FLAVOR = { VCPU: 1, MEMORY_MB: 512 };
const PROVIDER_RACE = refusal(409, "placement.concurrent_update", "Another thread concurrently updated the data");

describe("single providers", () => {
  let bench: PlacementBench;
  let client: ReportClient;

  beforeEach(async () => {
    bench = new PlacementBench();
    client = bench.client();
    for (const [uuid, name] of [
      [S, "devstack1"],
      [D, "devstack2"],
      [NFS, "nfs"],
    ] as const) {
      const tree = await client.getProviderTreeAndEnsureRoot(uuid, name);
      tree.updateInventory(uuid, NODE_INVENTORY);
      await client.updateFromProviderTree(tree);
    }
    bench.mark();
  });

  const claim = (allocations: Allocations, held: "double" | "replace" = "double", consumer = I) =>
    client.claimResources({
      consumer,
      request: { allocations },
      projectId: "project",
      userId: "user",
      version: "1.36",
      held,
    });
  const on = (...providers: readonly string[]): Allocations =>
    Object.fromEntries(providers.map((uuid) => [uuid, { resources: FLAVOR }]));
  const held = async (consumer = I) => {
    const { allocations } = await client.getAllocationsForConsumer(consumer);
    return Object.fromEntries(Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources]));
  };

  describe("5.8 delete_resource_provider", () => {
    const remains = async (): Promise<unknown> => bench.ask("GET", `/resource_providers?in_tree=${S}`, "1.14");

    beforeEach(async () => {
      const tree = await client.getProviderTreeAndEnsureRoot(S, "devstack1");
      tree.newChild("devstack1_gpu", S, CHILD);
      tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
      await client.updateFromProviderTree(tree);
    });

    it("cascade: instances lose everything, evacuated ones this tree only; children before parents", async () => {
      await claim(on(S, NFS));
      await claim({ ...on(S, D), [CHILD]: { resources: { VGPU: 1 } } }, "double", M);
      bench.mark();
      const cascade = { instances: [I], evacuated: [M] };
      expect(await client.deleteResourceProvider(S, { cascade })).toEqual({ remaining: [] });
      expect(bench.requests({ ...NAMES, [CHILD]: "CHILD" }).slice(-2)).toEqual([
        "DELETE /resource_providers/CHILD",
        "DELETE /resource_providers/S",
      ]);
      expect([await held(I), await held(M)]).toEqual([{}, { [D]: FLAVOR }]);
      expect(await remains()).toEqual({ resource_providers: [] });
    });

    it("what is in use stays and is named; the loop goes on", async () => {
      await claim({ [CHILD]: { resources: { VGPU: 1 } } }, "double", M);
      expect(await client.deleteResourceProvider(S)).toEqual({ remaining: [CHILD, S] });
      expect(bench.logs.filter(({ level }) => level === "error")).toHaveLength(2);
    });

    it("5.1 row 5 is made again by the next pass, and an absent one is no error", async () => {
      await client.deleteResourceProvider(S);
      expect(await client.deleteResourceProvider(S)).toEqual({ remaining: [] });
      await client.getProviderTreeAndEnsureRoot(S, "devstack1");
      expect(await remains()).toMatchObject({ resource_providers: [{ uuid: S }] });
    });
  });

  describe("5.9 host aggregates", () => {
    const AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000001";
    const members = async () =>
      bench.ask("GET", `/resource_providers?member_of=in:${AGGREGATE}`, "1.14") as Promise<{
        resource_providers: { uuid: string }[];
      }>;

    it("finds the provider by name, adds and removes; what is so already is not written", async () => {
      await client.aggregateAddHost(AGGREGATE, "devstack1");
      expect((await members()).resource_providers.map(({ uuid }) => uuid)).toEqual([S]);
      bench.mark();
      await client.aggregateAddHost(AGGREGATE, "devstack1");
      expect(bench.requests().some((request) => request.startsWith("PUT"))).toBe(false);
      await client.aggregateRemoveHost(AGGREGATE, "devstack1");
      expect((await members()).resource_providers).toEqual([]);
    });

    it("retries conflicts at most 4 times; a missing provider fails an add and not a remove", async () => {
      bench.inject({ on: "PUT /aggregates", does: PROVIDER_RACE, times: 3 });
      await client.aggregateAddHost(AGGREGATE, "devstack1");
      bench.inject({ on: "PUT /aggregates", does: PROVIDER_RACE, times: 4 });
      await expect(client.aggregateRemoveHost(AGGREGATE, "devstack1")).rejects.toThrow("kept changing");
      await expect(client.aggregateAddHost(AGGREGATE, "devstack9")).rejects.toThrow(/devstack9/);
      await client.aggregateRemoveHost(AGGREGATE, "devstack9");
    });
  });

  it("2.5 set_host_enabled: traits are read and written with the generation just read", async () => {
    const { traits, generation: known } = await client.getProviderTraits(S);
    await client.setTraitsForProvider(S, { traits: [...traits, "COMPUTE_STATUS_DISABLED"], generation: known });
    expect((await client.getProviderTraits(S)).traits).toEqual(["COMPUTE_STATUS_DISABLED"]);
    await expect(client.setTraitsForProvider(S, { traits, generation: known })).rejects.toThrow("changed meanwhile");
  });

  it("5.5 provider allocations: an error is ResourceProviderAllocationRetrievalFailed", async () => {
    await claim(on(S));
    expect([...(await client.getAllocationsForProvider(S)).consumers]).toEqual([[I, FLAVOR]]);
    bench.inject({ on: "GET /allocations", does: refusal(500, "", "broken") });
    await expect(client.getAllocationsForProvider(S)).rejects.toMatchObject({
      name: "ResourceProviderAllocationRetrievalFailed",
    });
  });

  it("5.5 candidates: asks for amounts, limit, forbidden and required root traits; null on an error", async () => {
    const query = {
      resources: { VCPU: 1, MEMORY_MB: 512 },
      rootRequired: ["!COMPUTE_STATUS_DISABLED", "OWNER_NOVA"],
      limit: 5,
    };
    expect(await client.getAllocationCandidates(query)).toMatchObject({ allocationRequests: [], version: "1.36" });
    expect(bench.requests()).toEqual([
      "GET /allocation_candidates?limit=5&resources=MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED,OWNER_NOVA 1.36",
    ]);
    const { providerSummaries, allocationRequests } =
      (await client.getAllocationCandidates({ ...query, rootRequired: [], inTree: S })) ?? expect.fail("no candidates");
    expect(allocationRequests).toEqual([{ allocations: { [S]: { resources: FLAVOR } } }]);
    expect(providerSummaries.get(S)).toMatchObject({
      rootUuid: S,
      parentUuid: null,
      resources: { VCPU: { capacity: 8, used: 0 } },
    });
    bench.inject({ on: "GET /allocation_candidates", does: refusal(400, "", "bad") });
    expect(await client.getAllocationCandidates(query)).toBeNull();
  });
});
