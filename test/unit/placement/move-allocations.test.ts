import { beforeEach, describe, expect, it } from "vitest";
import { AllocationMoveFailed } from "../../../src/placement/errors.js";
import type { ReportClient } from "../../../src/placement/report-client.js";
import type { Allocations } from "../../../src/placement/types.js";
import { NODE_INVENTORY, PlacementBench, refusal } from "./bench.js";

const S = "00000000-0000-4000-8000-000000000001";
const D = "00000000-0000-4000-8000-000000000002";
const NFS = "00000000-0000-4000-8000-000000000003";
const I = "cccccccc-0000-4000-8000-000000000001";
const M = "cccccccc-0000-4000-8000-000000000002";
const NAMES = { [S]: "S", [D]: "D", [NFS]: "NFS", [I]: "I", [M]: "M" };

const FLAVOR = { VCPU: 1, MEMORY_MB: 512 };
const CONSUMER_CONFLICT = refusal(
  409,
  "placement.concurrent_update",
  "consumer generation conflict - expected 1 but got 2",
);
const PROVIDER_RACE = refusal(409, "placement.concurrent_update", "Another thread concurrently updated the data");
const FULL = refusal(409, "placement.undefined_code", "Unable to allocate inventory");

describe("moves and generations", () => {
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
  const generation = async (uuid: string) => (await client.getAllocationsForProvider(uuid)).generation;
  const consumerGeneration = async (consumer = I) =>
    (await client.getAllocationsForConsumer(consumer)).consumerGeneration;

  describe("5.6 move_allocations", () => {
    it("5.5 move hands everything over in one request, with the source's project and user", async () => {
      await claim({ ...on(S), [NFS]: { resources: { DISK_GB: 1 } } });
      bench.mark();
      expect(await client.moveAllocations(I, M)).toBe(true);
      expect(bench.requests(NAMES)).toEqual([
        "GET /allocations/I 1.28",
        "GET /allocations/M 1.28",
        "POST /allocations 1.28",
      ]);
      expect(await held(I)).toEqual({});
      expect(await held(M)).toEqual({ [S]: FLAVOR, [NFS]: { DISK_GB: 1 } });
    });

    it("target and source non-empty: the target is overwritten", async () => {
      await claim(on(S), "double", M);
      await claim(on(D));
      expect(await client.moveAllocations(M, I)).toBe(true);
      expect(await held(I)).toEqual({ [S]: FLAVOR });
    });

    it("9.4 answer lost after commit: moved again it is recognised as done", async () => {
      await claim(on(S));
      bench.inject({ on: "POST /allocations", does: "lose" });
      expect(await client.moveAllocations(I, M)).toBeNull();
      bench.mark();
      expect(await client.moveAllocations(I, M)).toBe(true);
      expect(bench.requests().some((request) => request.startsWith("POST"))).toBe(false);
    });

    it("nothing to move: false", async () => {
      expect(await client.moveAllocations(I, M)).toBe(false);
    });

    it("409: consumer conflict is AllocationMoveFailed, another race is retried, anything else is false", async () => {
      await claim(on(S));
      bench.inject({ on: "POST /allocations", does: CONSUMER_CONFLICT });
      await expect(client.moveAllocations(I, M)).rejects.toThrow(AllocationMoveFailed);
      bench.inject({ on: "POST /allocations", does: FULL });
      expect(await client.moveAllocations(I, M)).toBe(false);
      bench.inject({ on: "POST /allocations", does: PROVIDER_RACE, times: 3 });
      expect(await client.moveAllocations(I, M)).toBe(true);
    });

    it("bug 1848343 OPT: the target was deleted meanwhile, so its allocation does not come back", async () => {
      await claim(on(S), "double", M);
      expect(await client.moveAllocations(M, I, { targetDeleted: async () => true })).toBe(true);
      expect(await held(I)).toEqual({});
      await claim(on(S), "double", M);
      expect(await client.moveAllocations(M, I, { targetDeleted: async () => false })).toBe(true);
      expect(await held(I)).toEqual({ [S]: FLAVOR });
    });
  });

  describe("5.4 generations", () => {
    it("a replaced allocation that drops S raises D's generation only (seed 001), a DELETE raises none", async () => {
      await claim(on(S, D));
      const before = [await generation(S), await generation(D)];
      await client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false });
      expect([await generation(S), await generation(D)]).toEqual([before[0], (before[1] ?? 0) + 1]);
      await client.deleteAllocation(I, { force: true });
      expect([await generation(S), await generation(D)]).toEqual([before[0], (before[1] ?? 0) + 1]);
    });

    it("a wipe by PUT raises the generation of every provider that the consumer had", async () => {
      await claim(on(S, D));
      const before = [await generation(S), await generation(D)];
      await client.deleteAllocation(I, { force: false });
      expect([await generation(S), await generation(D)]).toEqual(before.map((known) => known + 1));
    });

    it("a consumer is at 1 after its first write, and unknown again when its last allocation goes", async () => {
      await claim(on(S));
      expect(await consumerGeneration()).toBe(1);
      await claim(on(D));
      expect(await consumerGeneration()).toBe(2);
      await client.deleteAllocation(I, { force: false });
      expect(await consumerGeneration()).toBeNull();
      expect(await claim(on(S))).toBe(true);
    });
  });
});
