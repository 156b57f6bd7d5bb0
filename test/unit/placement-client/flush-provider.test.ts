import { beforeEach, describe, expect, it } from "vitest";
import { KnownNames } from "../../../src/placement-client/client-context.js";
import type { ProviderTree } from "../../../src/virt/provider-tree.js";
import { reportClientOf } from "../../fixtures/world/report-client.js";
import { ENDPOINT, errorResponse, inventoryOf, NODE_INVENTORY } from "./bench.js";
import { I, NAMES, on, S, twoHosts } from "./two-hosts.js";

const AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000001";
const OOPS = errorResponse(500, "", "oops");
const hosts = twoHosts();
let tree: ProviderTree;

beforeEach(async () => {
  tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
  hosts.bench.mark();
});

const requests = () => hosts.bench.requests(NAMES);
const flush = () => hosts.client.updateFromProviderTree(tree);
async function reread() {
  tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
}

describe("an unchanged value is not written again", () => {
  it.each<[string, () => unknown]>([
    ["inventory", () => tree.updateInventory(S, { VCPU: inventoryOf(3) })],
    ["aggregates", () => tree.updateAggregates(S, [AGGREGATE])],
    ["traits", () => tree.updateTraits(S, ["COMPUTE_NODE"])],
  ])("%s, also from a copy of the cache", async (what, edit) => {
    edit();
    await flush();
    expect(requests().at(-1)).toMatch(/^PUT /);
    hosts.bench.mark();
    await flush();
    await reread();
    edit();
    await flush();
    expect(requests(), what).toEqual([]);
  });

  it("and other consumers' allocations are still noticed", async () => {
    await hosts.claim(on(S));
    await hosts.client.getAllocationsForProvider(S);
    hosts.client.invalidateAssociations(S);
    await reread();
    await hosts.client.getAllocationsForProvider(S);
    tree.updateInventory(S, { ...NODE_INVENTORY, VCPU: inventoryOf(9) });
    tree.updateAggregates(S, [AGGREGATE]);
    tree.updateTraits(S, ["COMPUTE_NODE"]);
    await flush();
    const pass = await hosts.client.beginPass([S]);
    hosts.bench.mark();
    expect([...(await hosts.client.getAllocationsForProvider(S, { pass })).consumers.keys()]).toEqual([I]);
    expect(requests()).toEqual([]);
  });
});

describe("names that must exist in Placement", () => {
  const put = (name: string) => `PUT /resource_classes/${name} 1.7`;
  const countRequests = (request: string) => requests().filter((each) => each === request).length;

  it("a custom class is created once, a standard one never", async () => {
    tree.updateInventory(S, { VCPU: inventoryOf(3), CUSTOM_LANE: inventoryOf(1) });
    await flush();
    tree.updateInventory(S, { VCPU: inventoryOf(4), CUSTOM_LANE: inventoryOf(1) });
    await flush();
    expect([countRequests(put("CUSTOM_LANE")), countRequests(put("VCPU"))]).toEqual([1, 0]);
  });

  it("a class is created again after a rejection that may be due to its absence, and no other", async () => {
    tree.updateInventory(S, { CUSTOM_LANE: inventoryOf(1) });
    await flush();
    for (const [status, times] of [
      [500, 1],
      [400, 2],
    ] as const) {
      hosts.bench.inject({ on: "PUT /inventories", does: errorResponse(status, "", "no") });
      tree.updateInventory(S, { CUSTOM_LANE: inventoryOf(status) });
      await expect(flush()).rejects.toThrow();
      await reread();
      tree.updateInventory(S, { CUSTOM_LANE: inventoryOf(status + 1) });
      await flush();
      expect(countRequests(put("CUSTOM_LANE"))).toBe(times);
    }
  });

  it("everything is checked again when the cache is cleared", async () => {
    const edit = (total: number) => {
      tree.updateInventory(S, { CUSTOM_LANE: inventoryOf(total) });
      tree.updateTraits(S, total === 1 ? ["CUSTOM_FAST"] : ["CUSTOM_FAST", "COMPUTE_NODE"]);
    };
    edit(1);
    await flush();
    hosts.client.clearProviderCache();
    await reread();
    hosts.bench.mark();
    edit(2);
    await flush();
    expect(countRequests(put("CUSTOM_LANE"))).toBe(1);
    expect(requests()).toContain("GET /traits?name=in:CUSTOM_FAST,COMPUTE_NODE 1.6");
  });

  it("names that one client of a process knows are not checked by the others", async () => {
    const known = new KnownNames();
    const clients = [1, 2].map(() =>
      reportClientOf(ENDPOINT, { ...hosts.bench.runtime, http: hosts.bench.http, known }),
    );
    for (const client of clients) {
      const edited = await client.getProviderTreeAndEnsureRoot(S, "devstack1");
      edited.updateInventory(S, { CUSTOM_LANE: inventoryOf(clients.indexOf(client) + 1) });
      edited.updateTraits(S, ["CUSTOM_FAST", ...(client === clients[1] ? ["CUSTOM_SLOW"] : [])]);
      await client.updateFromProviderTree(edited);
    }
    expect(countRequests(put("CUSTOM_LANE"))).toBe(1);
    expect(requests().filter((request) => request.startsWith("GET /traits"))).toEqual([
      "GET /traits?name=in:CUSTOM_FAST 1.6",
      "GET /traits?name=in:CUSTOM_SLOW 1.6",
    ]);
  });

  it("a trait that cannot be checked or created is named in the error", async () => {
    const set = (trait: string) => hosts.client.setTraitsForProvider(S, { traits: [trait], generation: 1 });
    hosts.bench.inject({ on: "GET /traits", does: OOPS });
    await expect(set("CUSTOM_FAST")).rejects.toMatchObject({ code: "TraitRetrievalFailed" });
    hosts.bench.inject({ on: "PUT /traits/", does: OOPS });
    await expect(set("CUSTOM_FAST")).rejects.toMatchObject({ code: "TraitCreationFailed" });
    expect(requests().filter((request) => request.includes("/resource_providers"))).toEqual([]);
  });

  it("a rejected write is not a conflict", async () => {
    hosts.bench.inject({ on: "PUT /resource_providers", does: OOPS });
    const { generation } = await hosts.client.getProviderTraits(S);
    const failed = hosts.client.setTraitsForProvider(S, { traits: [], generation });
    await expect(failed).rejects.toMatchObject({ code: "ResourceProviderUpdateFailed" });
    await expect(failed).rejects.toThrow(`the traits of provider ${S} could not be written`);
  });
});

describe("setting traits regardless of the cache", () => {
  it("with the cached generation updates the cache for the next write", async () => {
    const { generation } = await hosts.client.getProviderTraits(S);
    await hosts.client.setTraitsForProvider(S, { traits: ["COMPUTE_NODE"], generation });
    await reread();
    expect([...tree.data(S).traits]).toEqual(["COMPUTE_NODE"]);
    tree.updateAggregates(S, [AGGREGATE]);
    await flush();
    expect(tree.data(S).generation).toBe(generation + 2);
  });

  it("with a newer generation does not hide another client's writes", async () => {
    await hosts.bench.ask("PUT", `/resource_providers/${S}/traits`, "1.6", {
      resource_provider_generation: tree.data(S).generation,
      traits: ["STORAGE_DISK_SSD"],
    });
    const { generation } = await hosts.client.getProviderTraits(S);
    await hosts.client.setTraitsForProvider(S, { traits: ["COMPUTE_NODE"], generation });
    await reread();
    tree.updateAggregates(S, [AGGREGATE]);
    await expect(flush()).rejects.toThrow("changed meanwhile");
  });

  it("works for a provider that is not cached", async () => {
    const client = hosts.bench.client();
    const { generation } = await client.getProviderTraits(S);
    await client.setTraitsForProvider(S, { traits: ["COMPUTE_NODE"], generation });
    expect((await client.getProviderTraits(S)).traits).toEqual(["COMPUTE_NODE"]);
  });
});

describe("discrete resources stay with the agent", () => {
  it("the cache retains the values from the driver", async () => {
    tree.updateResources(S, { CUSTOM_LANE: ["a", "b"] });
    await flush();
    await reread();
    expect(tree.data(S).resources).toEqual({ CUSTOM_LANE: ["a", "b"] });
    expect(requests()).toEqual([]);
  });
});
