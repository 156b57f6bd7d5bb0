import { beforeEach, describe, expect, it, test } from "vitest";
import { createAllocationError, isProviderMissing } from "../../../src/placement-client/errors.js";
import type { Allocations } from "../../../src/placement-client/types.js";
import { FULL, inventoryOf } from "./bench.js";
import { CHILD, D, FLAVOR, I, M, NAMES, on, PROVIDER_RACE, S, twoHosts } from "./two-hosts.js";

const hosts = twoHosts();
const { claim, held } = hosts;
const writes = () => hosts.bench.requests(NAMES).filter((request) => !request.startsWith("GET"));
/** Returns the consumers that are cached for the provider, without a request. */
async function remembered(uuid: string): Promise<readonly string[]> {
  const pass = await hosts.client.beginPass([S, D]);
  hosts.bench.mark();
  const { consumers } = await hosts.client.getAllocationsForProvider(uuid, { pass });
  return hosts.bench.sent.length === 0 ? [...consumers.keys()] : ["it had to be asked for"];
}

describe("a change of amounts", () => {
  it("fails without a retry for a consumer without allocations, or if Placement rejects it", async () => {
    await expect(hosts.client.addResources(I, on(S))).rejects.toThrow(
      `Failed to update allocations for consumer ${I}. Error: it has no allocations`,
    );
    expect(writes()).toEqual([]);
    await claim(on(S));
    hosts.bench.mark();
    hosts.bench.inject({ on: "PUT /allocations", does: FULL });
    await expect(hosts.client.addResources(I, on(D))).rejects.toThrow("Error: Placement rejected the change");
    expect(writes()).toEqual(["PUT /allocations/I 1.28 -> 409"]);
    hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE, times: 4 });
    await expect(hosts.client.addResources(I, on(D))).rejects.toThrow("they changed repeatedly; try again later");
  });

  it("adds to existing allocations, also new classes and providers; others remain", async () => {
    await claim({ ...on(S), ...on(D) });
    await hosts.client.addResources(I, { [S]: { resources: { VCPU: 2, DISK_GB: 1 } } });
    expect(await held()).toEqual({ [S]: { ...FLAVOR, VCPU: 3, DISK_GB: 1 }, [D]: FLAVOR });
  });

  it("subtracts up to the existing amounts, and no more", async () => {
    await claim(on(S, D));
    await expect(hosts.client.removeResources(I, { [S]: { resources: { VCPU: 2 } } })).rejects.toMatchObject({
      code: "AllocationUpdateFailed",
    });
    await hosts.client.removeResources(I, { [S]: { resources: { VCPU: 1 } }, [D]: { resources: FLAVOR } });
    expect(await held()).toEqual({ [S]: { MEMORY_MB: 512 } });
  });
});

describe("a subtraction that is applied twice", () => {
  it("subtracts once: the conflict comes from its own write", async () => {
    await claim({ [S]: { resources: { VCPU: 2, MEMORY_MB: 1024 } } });
    const carryOut = async () => void (await claim(on(S), "replace"));
    hosts.bench.inject({ on: "PUT /allocations", does: carryOut });
    const whileHeld = (all: Allocations) => all[S]?.resources.VCPU === 2;
    await hosts.client.removeResources(I, on(S), { whileHeld });
    expect(await held()).toEqual({ [S]: FLAVOR });
  });
});

describe("removal of a tree from a consumer", () => {
  const strip = (options: { readonly retry?: boolean; readonly unless?: () => Promise<boolean> } = {}) =>
    hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false, ...options });

  beforeEach(async () => {
    const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
    tree.newChild("devstack1_gpu", S, CHILD);
    tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
    await hosts.client.updateFromProviderTree(tree);
    await claim({ ...on(S, D), [CHILD]: { resources: { VGPU: 1 } } });
    await hosts.client.getAllocationsForProvider(S);
  });

  it("drops the tree and its descendants from the cache", async () => {
    expect(await strip()).toBe(true);
    expect(await held()).toEqual({ [D]: FLAVOR });
    expect(await remembered(S)).toEqual([]);
  });

  it("is skipped if the allocations are still in use, which is checked between reading and writing", async () => {
    hosts.bench.mark();
    let requests: readonly string[] = [];
    const unless = async () => {
      requests = hosts.bench.requests(NAMES);
      return true;
    };
    expect(await strip({ unless })).toBe(true);
    expect(requests).toEqual(["GET /allocations/I 1.28", "GET /resource_providers?in_tree=S 1.14"]);
    expect(writes()).toEqual([]);
    expect(await strip({ unless: () => Promise.resolve(false) })).toBe(true);
    expect(await held()).toEqual({ [D]: FLAVOR });
  });

  it("leaves the cache unchanged if Placement rejects it", async () => {
    hosts.bench.inject({ on: "PUT /allocations", does: FULL });
    expect(await strip({ retry: true })).toBe(false);
    expect(await remembered(S)).toEqual([I]);
  });

  test.each([
    [false, 1, false],
    [true, 3, true],
    [true, 4, false],
  ])("retry %s, %i races: %s", async (retry, times, expected) => {
    hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE, times });
    expect(await strip({ retry })).toBe(expected);
  });

  it("of allocations that are already gone updates the cache without a write", async () => {
    await claim(on(D), "replace");
    const other = hosts.bench.client();
    expect(await other.removeProviderTreeFromInstanceAllocation(I, S, { retry: false })).toBe(true);
    hosts.bench.mark();
    expect(await strip()).toBe(true);
    expect(writes()).toEqual([]);
    expect(await remembered(S)).toEqual([]);
  });

  it("of a consumer without any allocations removes it from the cache everywhere", async () => {
    await hosts.bench.ask("DELETE", `/allocations/${I}`);
    expect(await strip()).toBe(false);
    expect(await remembered(S)).toEqual([]);
    expect(await hosts.client.removeProviderTreeFromInstanceAllocation(M, S, { retry: false })).toBe(false);
  });
});

it("a consumer's allocations are read with the generations of their providers, which a write may send back", async () => {
  await claim(on(S));
  const { generation } = await hosts.client.getAllocationsForProvider(S);
  const { allocations } = await hosts.client.getAllocationsForConsumer(I);
  expect(allocations).toEqual({ [S]: { resources: FLAVOR, generation } });
});

test.each([
  [404, true],
  [500, false],
])("allocations of a provider with the response %i: missing %s", (status, expected) => {
  const response = { status, describe: () => String(status) };
  expect(
    isProviderMissing(createAllocationError("ResourceProviderAllocationRetrievalFailed", "p", "why", response)),
  ).toBe(expected);
  expect(isProviderMissing(createAllocationError("AllocationUpdateFailed", "c", "why", response))).toBe(false);
});
