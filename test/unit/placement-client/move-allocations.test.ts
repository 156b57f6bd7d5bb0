import { describe, expect, it } from "vitest";
import type { Allocations } from "../../../src/placement-client/types.js";
import { CONSUMER_CONFLICT, FULL } from "./bench.js";
import { D, FLAVOR, I, M, NAMES, NFS, on, PROVIDER_RACE, S, twoHosts } from "./two-hosts.js";

describe("moves and generations", () => {
  const hosts = twoHosts();
  const { claim, held } = hosts;
  const generation = async (uuid: string) => (await hosts.client.getAllocationsForProvider(uuid)).generation;
  const consumerGeneration = async (consumer = I) =>
    (await hosts.client.getAllocationsForConsumer(consumer)).consumerGeneration;

  describe("5.6 move_allocations", () => {
    it("5.5 move moves all allocations in one request, with the source's project and user", async () => {
      await claim({ ...on(S), [NFS]: { resources: { DISK_GB: 1 } } });
      hosts.bench.mark();
      expect(await hosts.client.moveAllocations(I, M)).toBe(true);
      expect(hosts.bench.requests(NAMES)).toEqual([
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
      expect(await hosts.client.moveAllocations(M, I)).toBe(true);
      expect(await held(I)).toEqual({ [S]: FLAVOR });
    });

    it("V15 allocations selected by `leave` remain with the target", async () => {
      await claim(on(S), "double", M);
      await claim(on(D, NFS));
      const leave = async (holds: Allocations) => new Set(Object.keys(holds).filter((provider) => provider !== D));
      expect(await hosts.client.moveAllocations(M, I, { leave })).toBe(true);
      expect(await held(I)).toEqual({ [S]: FLAVOR, [NFS]: FLAVOR });
    });

    it("9.4 answer lost after commit: the repeated move counts as done", async () => {
      await claim(on(S));
      hosts.bench.inject({ on: "POST /allocations", does: "lose" });
      expect(await hosts.client.moveAllocations(I, M)).toBeNull();
      hosts.bench.mark();
      expect(await hosts.client.moveAllocations(I, M)).toBe(true);
      expect(hosts.bench.requests().some((request) => request.startsWith("POST"))).toBe(false);
    });

    it("nothing to move: false", async () => {
      expect(await hosts.client.moveAllocations(I, M)).toBe(false);
    });

    it("409: consumer conflict is AllocationMoveFailed, another concurrent update is retried, anything else is false", async () => {
      await claim(on(S));
      hosts.bench.inject({ on: "POST /allocations", does: CONSUMER_CONFLICT });
      const failure = hosts.client.moveAllocations(I, M);
      await expect(failure).rejects.toMatchObject({ code: "AllocationMoveFailed" });
      await expect(failure).rejects.toThrow(`Failed to move allocations from consumer ${I} to consumer ${M}. Error: `);
      hosts.bench.inject({ on: "POST /allocations", does: FULL });
      expect(await hosts.client.moveAllocations(I, M)).toBe(false);
      hosts.bench.inject({ on: "POST /allocations", does: PROVIDER_RACE, times: 3 });
      expect(await hosts.client.moveAllocations(I, M)).toBe(true);
    });

    it("bug 1848343 OPT: the target was deleted meanwhile, so its allocations are not recreated", async () => {
      await claim(on(S), "double", M);
      expect(await hosts.client.moveAllocations(M, I, { targetDeleted: async () => true })).toBe(true);
      expect(hosts.bench.requests(NAMES).at(-1), "by force").toBe("DELETE /allocations/I");
      expect(await held(I)).toEqual({});
      await claim(on(S), "double", M);
      expect(await hosts.client.moveAllocations(M, I, { targetDeleted: async () => false })).toBe(true);
      expect(await held(I)).toEqual({ [S]: FLAVOR });
    });
  });

  describe("5.4 generations", () => {
    it("a replacement that drops S raises D's generation only, a DELETE raises none", async () => {
      await claim(on(S, D));
      const before = [await generation(S), await generation(D)];
      await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false });
      expect([await generation(S), await generation(D)]).toEqual([before[0], (before[1] ?? 0) + 1]);
      await hosts.client.deleteAllocation(I, { force: true });
      expect([await generation(S), await generation(D)]).toEqual([before[0], (before[1] ?? 0) + 1]);
    });

    it("emptying a consumer by PUT raises the generations of all its providers", async () => {
      await claim(on(S, D));
      const before = [await generation(S), await generation(D)];
      await hosts.client.deleteAllocation(I, { force: false });
      expect([await generation(S), await generation(D)]).toEqual(before.map((known) => known + 1));
    });

    it("a consumer has generation 1 after its first write, and is unknown again when its last allocation is removed", async () => {
      await claim(on(S));
      expect(await consumerGeneration()).toBe(1);
      await claim(on(D));
      expect(await consumerGeneration()).toBe(2);
      await hosts.client.deleteAllocation(I, { force: false });
      expect(await consumerGeneration()).toBeNull();
      expect(await claim(on(S))).toBe(true);
    });
  });
});
