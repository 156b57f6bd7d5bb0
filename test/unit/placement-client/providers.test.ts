import { beforeEach, describe, expect, it } from "vitest";
import { isProviderMissing } from "../../../src/placement-client/errors.js";
import { errorResponse, inventoryOf } from "./bench.js";
import { CHILD, D, FLAVOR, I, M, NAMES, NFS, on, PROVIDER_RACE, S, twoHosts } from "./two-hosts.js";

describe("single providers", () => {
  const hosts = twoHosts();
  const { claim, held } = hosts;

  describe("5.8 delete_resource_provider", () => {
    const remains = async (): Promise<unknown> => hosts.bench.ask("GET", `/resource_providers?in_tree=${S}`, "1.14");

    beforeEach(async () => {
      const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
      tree.newChild("devstack1_gpu", S, CHILD);
      tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
      await hosts.client.updateFromProviderTree(tree);
    });

    it("cascade: deletes all allocations of instances, those of evacuated ones in this tree only; children before parents", async () => {
      await claim(on(S, NFS));
      await claim({ ...on(S, D), [CHILD]: { resources: { VGPU: 1 } } }, "double", M);
      hosts.bench.mark();
      const cascade = { instances: [I], evacuated: [M] };
      expect(await hosts.client.deleteResourceProvider(S, { cascade })).toEqual({ remaining: [] });
      expect(hosts.bench.requests({ ...NAMES, [CHILD]: "CHILD" }).slice(-2)).toEqual([
        "DELETE /resource_providers/CHILD",
        "DELETE /resource_providers/S",
      ]);
      expect([await held(I), await held(M)]).toEqual([{}, { [D]: FLAVOR }]);
      expect(await remains()).toEqual({ resource_providers: [] });
    });

    it("providers in use remain and are named; the others are deleted", async () => {
      await claim({ [CHILD]: { resources: { VGPU: 1 } } }, "double", M);
      expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [CHILD, S] });
      expect(hosts.bench.logs.filter(({ level }) => level === "error")).toHaveLength(2);
    });

    it("a provider deleted by another client is removed from the cache as well", async () => {
      await hosts.bench.ask("DELETE", `/resource_providers/${CHILD}`, "1.20");
      await hosts.bench.ask("DELETE", `/resource_providers/${S}`, "1.20");
      expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [] });
      await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
      expect(await remains()).toMatchObject({ resource_providers: [{ uuid: S }] });
    });

    it("5.1 row 5 is created again by the next pass, and a missing one is not an error", async () => {
      await hosts.client.deleteResourceProvider(S);
      expect(await hosts.client.deleteResourceProvider(S)).toEqual({ remaining: [] });
      await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
      expect(await remains()).toMatchObject({ resource_providers: [{ uuid: S }] });
    });
  });

  describe("5.9 host aggregates", () => {
    const AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000001";
    const members = async () =>
      hosts.bench.ask("GET", `/resource_providers?member_of=in:${AGGREGATE}`, "1.14") as Promise<{
        resource_providers: { uuid: string }[];
      }>;

    it("finds the provider by name, adds and removes; an unchanged membership is not written", async () => {
      await hosts.client.aggregateAddHost(AGGREGATE, "devstack1");
      expect((await members()).resource_providers.map(({ uuid }) => uuid)).toEqual([S]);
      hosts.bench.mark();
      await hosts.client.aggregateAddHost(AGGREGATE, "devstack1");
      expect(hosts.bench.requests().some((request) => request.startsWith("PUT"))).toBe(false);
      await hosts.client.aggregateRemoveHost(AGGREGATE, "devstack1");
      expect((await members()).resource_providers).toEqual([]);
    });

    it("retries conflicts at most 4 times; a missing provider fails an add but not a remove", async () => {
      hosts.bench.inject({ on: "PUT /aggregates", does: PROVIDER_RACE, times: 3 });
      await hosts.client.aggregateAddHost(AGGREGATE, "devstack1");
      hosts.bench.inject({ on: "PUT /aggregates", does: PROVIDER_RACE, times: 4 });
      await expect(hosts.client.aggregateRemoveHost(AGGREGATE, "devstack1")).rejects.toThrow("changed repeatedly");
      await expect(hosts.client.aggregateAddHost(AGGREGATE, "devstack9")).rejects.toThrow(/devstack9/);
      await hosts.client.aggregateRemoveHost(AGGREGATE, "devstack9");
    });
  });

  it("2.5 set_host_enabled: traits are read and written with the generation just read", async () => {
    const { traits, generation: known } = await hosts.client.getProviderTraits(S);
    await hosts.client.setTraitsForProvider(S, { traits: [...traits, "COMPUTE_STATUS_DISABLED"], generation: known });
    expect((await hosts.client.getProviderTraits(S)).traits).toEqual(["COMPUTE_STATUS_DISABLED"]);
    await expect(hosts.client.setTraitsForProvider(S, { traits, generation: known })).rejects.toThrow(
      "changed meanwhile",
    );
  });

  it("5.5 provider allocations: an error is ResourceProviderAllocationRetrievalFailed", async () => {
    await claim(on(S));
    expect([...(await hosts.client.getAllocationsForProvider(S)).consumers]).toEqual([[I, FLAVOR]]);
    hosts.bench.inject({ on: "GET /allocations", does: errorResponse(500, "", "broken") });
    const why = (uuid: string) => hosts.client.getAllocationsForProvider(uuid).catch((error: unknown) => error);
    const broken = await why(S);
    expect(broken).toMatchObject({ name: "ResourceProviderAllocationRetrievalFailed", status: 500 });
    expect([broken, await why(CHILD)].map(isProviderMissing)).toEqual([false, true]);
  });

  it("5.5 candidates: requests amounts, limit, forbidden and required root traits; null on an error", async () => {
    const query = {
      groups: [{ suffix: "", resources: { VCPU: 1, MEMORY_MB: 512 } }],
      rootRequired: ["!COMPUTE_STATUS_DISABLED", "OWNER_NOVA"],
      limit: 5,
    };
    expect(await hosts.client.getAllocationCandidates(query)).toMatchObject({
      allocationRequests: [],
      version: "1.36",
    });
    expect(hosts.bench.requests()).toEqual([
      "GET /allocation_candidates?limit=5&resources=MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED,OWNER_NOVA 1.36",
    ]);
    const { providerSummaries, allocationRequests } =
      (await hosts.client.getAllocationCandidates({ ...query, rootRequired: [], inTree: S })) ??
      expect.fail("no candidates");
    expect(allocationRequests).toEqual([{ allocations: { [S]: { resources: FLAVOR } } }]);
    expect(providerSummaries.get(S)).toMatchObject({
      rootUuid: S,
      resources: { VCPU: { capacity: 8, used: 0 } },
    });
    hosts.bench.inject({ on: "GET /allocation_candidates", does: errorResponse(400, "", "bad") });
    expect(await hosts.client.getAllocationCandidates(query)).toBeNull();
  });

  it("5.5 candidates: each group requests its traits and aggregates under its suffix", async () => {
    await hosts.client.getAllocationCandidates({
      groups: [
        { suffix: "", resources: { VCPU: 1 }, required: ["HW_CPU_X86_AVX"], notMemberOf: ["a2", "a1"].map(aggregate) },
        {
          suffix: "_GPU",
          resources: { VGPU: 2 },
          memberOf: [["a4", "a3"].map(aggregate), [aggregate("a5")]],
          notMemberOf: [aggregate("a6")],
        },
      ],
      groupPolicy: "isolate",
      rootRequired: [],
      limit: 3,
    });
    const requestedQuery = decodeURIComponent(hosts.bench.sent[0]?.path ?? "").split("?")[1];
    expect(requestedQuery?.replaceAll(aggregate(""), "").split("&")).toEqual([
      "group_policy=isolate",
      "limit=3",
      "member_of=!in:a1,a2",
      "member_of_GPU=!in:a6",
      "member_of_GPU=in:a3,a4",
      "member_of_GPU=in:a5",
      "required=HW_CPU_X86_AVX",
      "resources=VCPU:1",
      "resources_GPU=VGPU:2",
    ]);
  });

  it("5.3 row 6 a name of another uuid is rejected; a provider of the same uuid, created meanwhile, is used", async () => {
    await expect(hosts.client.getProviderTreeAndEnsureRoot(CHILD, "devstack1")).rejects.toMatchObject({
      name: "ResourceProviderCreationFailed",
      status: 409,
    });
    const made = async () => {
      await hosts.bench.ask("POST", "/resource_providers", "1.20", { uuid: CHILD, name: "devstack3" });
    };
    hosts.bench.inject({ on: "POST /resource_providers", does: made });
    const tree = await hosts.client.getProviderTreeAndEnsureRoot(CHILD, "devstack3");
    expect(tree.data(CHILD)).toMatchObject({ name: "devstack3", generation: 0 });
  });

  it("5.3 row 6 a rejection for another reason, without a provider: ResourceProviderCreationFailed", async () => {
    hosts.bench.inject({
      on: "POST /resource_providers",
      does: errorResponse(409, "placement.undefined_code", "parent provider UUID does not exist"),
    });
    await expect(hosts.client.getProviderTreeAndEnsureRoot(CHILD, "devstack3")).rejects.toMatchObject({
      name: "ResourceProviderCreationFailed",
      status: 409,
    });
  });
});

function aggregate(end: string): string {
  return `aaaaaaaa-0000-4000-8000-0000000000${end}`;
}
