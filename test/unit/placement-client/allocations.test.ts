import { beforeEach, describe, expect, it, vi } from "vitest";
import { CONSUMER_CONFLICT, errorResponse, inventoryOf } from "./bench.js";
import { CHILD, D, FLAVOR, I, M, NAMES, NFS, on, PROVIDER_RACE, S, twoHosts } from "./two-hosts.js";

describe("5.5 allocation calls", () => {
  const hosts = twoHosts();
  const { claim, held } = hosts;

  describe("claim", () => {
    it("5.5 claim of a consumer without allocations: reads, then writes with generation null", async () => {
      expect(await claim(on(S))).toBe(true);
      expect(hosts.bench.requests(NAMES)).toEqual(["GET /allocations/I 1.28", "PUT /allocations/I 1.36"]);
      expect(hosts.bench.sent[1]?.body).toEqual({
        allocations: on(S),
        project_id: "project",
        user_id: "user",
        consumer_generation: null,
      });
    });

    it("double: allocations on other providers are retained, on a requested one they become the request's", async () => {
      await claim({ ...on(S), [NFS]: { resources: { DISK_GB: 10 } } });
      expect(await claim({ ...on(D), [NFS]: { resources: { DISK_GB: 20 } } })).toBe(true);
      expect(await held()).toEqual({ [S]: FLAVOR, [D]: FLAVOR, [NFS]: { DISK_GB: 20 } });
    });

    it("writes existing allocations first, as Nova does: an evacuation's source before its destination", async () => {
      await claim(on(S));
      await claim(on(D));
      const body = hosts.bench.sent.at(-1)?.body as { readonly allocations: object };
      expect(Object.keys(body.allocations)).toEqual([S, D]);
    });

    it("replace: a building instance has one tree", async () => {
      await claim(on(S));
      expect(await claim(on(D), "replace")).toBe(true);
      expect(await held()).toEqual({ [D]: FLAVOR });
    });

    it("9.4 answer lost after commit, complete claim repeated: finds its own record and writes the same", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: "lose" });
      expect(await claim(on(S))).toBeNull();
      expect(await claim(on(S))).toBe(true);
      expect(await held()).toEqual({ [S]: FLAVOR });
    });

    it("5.3 row 6 409 consumer conflict: AllocationUpdateFailed, once, without a retry", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
      const failure = claim(on(S));
      await expect(failure).rejects.toMatchObject({ code: "AllocationUpdateFailed" });
      await expect(failure).rejects.toThrow(`Failed to update allocations for consumer ${I}. Error: another process`);
      expect(hosts.bench.slept).toEqual([]);
    });

    it("409 for another concurrent update: 4 attempts, waiting uniform(0, 2k) s before attempt k, then false", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE, times: 4 });
      expect(await claim(on(S))).toBe(false);
      expect(hosts.bench.sent.filter(({ method }) => method === "PUT")).toHaveLength(4);
      expect(hosts.bench.sent.filter(({ method }) => method === "GET")).toHaveLength(4);
      expect(hosts.bench.slept).toHaveLength(3);
      hosts.bench.slept.forEach((slept, index) => {
        expect(slept).toBeLessThan(2000 * (index + 1));
      });
    });

    it("waits between attempts for the random times", async () => {
      vi.spyOn(hosts.bench.runtime.random, "next").mockReturnValue(0.5);
      hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE, times: 4 });
      expect(await claim(on(S))).toBe(false);
      expect(hosts.bench.slept).toEqual([1000, 2000, 3000]);
    });

    it("409 for another concurrent update, once: succeeds", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE });
      expect(await claim(on(S))).toBe(true);
    });

    it("host full: false", async () => {
      await claim({ [S]: { resources: { VCPU: 8 } } }, "double", M);
      expect(await claim(on(S))).toBe(false);
      expect(await held()).toEqual({});
    });

    it("500 on the read: ConsumerAllocationRetrievalFailed", async () => {
      hosts.bench.inject({ on: "GET /allocations", does: errorResponse(500, "", "oops") });
      const failure = claim(on(S));
      await expect(failure).rejects.toMatchObject({ code: "ConsumerAllocationRetrievalFailed" });
      await expect(failure).rejects.toThrow(`Failed to retrieve allocations for consumer ${I}: `);
    });
  });

  it("5.5 put_allocations: writes without reading; a wrong generation is AllocationUpdateFailed", async () => {
    const read = await hosts.client.getAllocationsForConsumer(I);
    const write = { read, allocations: on(S), projectId: "project", userId: "user" };
    hosts.bench.mark();
    expect(await hosts.client.putAllocations(I, write)).toBe(true);
    expect(hosts.bench.requests(NAMES)).toEqual(["PUT /allocations/I 1.28"]);
    await expect(hosts.client.putAllocations(I, write)).rejects.toMatchObject({ code: "AllocationUpdateFailed" });
  });

  it("5.5 OPT put_allocations: a consumer recreated at the same generation between two attempts is not overwritten", async () => {
    await claim(on(S));
    const read = await hosts.client.getAllocationsForConsumer(I);
    hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE });
    hosts.bench.asleep = async () => {
      await hosts.client.moveAllocations(I, M);
      await claim(on(D));
    };
    const stale = hosts.client.putAllocations(I, { read, allocations: on(S), projectId: "project", userId: "user" });
    await expect(stale).rejects.toMatchObject({ code: "AllocationUpdateFailed" });
    const now = await hosts.client.getAllocationsForConsumer(I);
    expect(now.consumerGeneration, "the write would not have failed").toBe(read.consumerGeneration);
    expect(await held()).toEqual({ [D]: FLAVOR });
  });

  it("5.5 put_allocations: retries if the consumer is unchanged", async () => {
    const read = await hosts.client.getAllocationsForConsumer(I);
    hosts.bench.inject({ on: "PUT /allocations", does: PROVIDER_RACE });
    const write = { read, allocations: on(S), projectId: "project", userId: "user" };
    expect(await hosts.client.putAllocations(I, write)).toBe(true);
  });

  it("5.5 add_resources, 5.5 remove_resources: sums, drops what becomes empty, rejects more than is allocated", async () => {
    await claim(on(S));
    await hosts.client.addResources(I, { [S]: { resources: { DISK_GB: 5 } }, [NFS]: { resources: { DISK_GB: 1 } } });
    expect(await held()).toEqual({ [S]: { ...FLAVOR, DISK_GB: 5 }, [NFS]: { DISK_GB: 1 } });
    await hosts.client.removeResources(I, { [S]: { resources: { DISK_GB: 5 } }, [NFS]: { resources: { DISK_GB: 1 } } });
    expect(await held()).toEqual({ [S]: FLAVOR });
    await expect(hosts.client.removeResources(I, { [S]: { resources: { VCPU: 2 } } })).rejects.toThrow(
      /has 1 VCPU.*cannot subtract 2/,
    );
    await expect(hosts.client.removeResources(I, { [D]: { resources: { VCPU: 1 } } })).rejects.toMatchObject({
      code: "AllocationUpdateFailed",
    });
    await expect(hosts.client.addResources(M, on(S))).rejects.toMatchObject({ code: "AllocationUpdateFailed" });
    expect(await held()).toEqual({ [S]: FLAVOR });
  });

  it("add_resources: retries any concurrent update after reading again, at most 4 attempts", async () => {
    await claim(on(S));
    hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT, times: 3 });
    await hosts.client.addResources(I, { [S]: { resources: { DISK_GB: 5 } } });
    expect(await held()).toEqual({ [S]: { ...FLAVOR, DISK_GB: 5 } });
    hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT, times: 4 });
    await expect(hosts.client.addResources(I, { [S]: { resources: { DISK_GB: 5 } } })).rejects.toMatchObject({
      code: "AllocationUpdateFailed",
    });
  });

  describe("remove_provider_tree", () => {
    beforeEach(async () => {
      const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
      tree.newChild("devstack1_gpu", S, CHILD);
      tree.updateInventory(CHILD, { VGPU: inventoryOf(2) });
      await hosts.client.updateFromProviderTree(tree);
      await claim({ ...on(S, D), [CHILD]: { resources: { VGPU: 1 } }, [NFS]: { resources: { DISK_GB: 1 } } });
      hosts.bench.mark();
    });

    it("5.5 remove_provider_tree removes the complete tree and nothing else: destination and sharing provider stay bit-equal (V15)", async () => {
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false })).toBe(true);
      expect(hosts.bench.requests(NAMES)).toEqual([
        "GET /allocations/I 1.28",
        "GET /resource_providers?in_tree=S 1.14",
        "PUT /allocations/I 1.28",
      ]);
      expect(await held()).toEqual({ [D]: FLAVOR, [NFS]: { DISK_GB: 1 } });
    });

    it("no allocations on that tree: true without a write; no allocations at all: false", async () => {
      await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false });
      hosts.bench.mark();
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false })).toBe(true);
      expect(hosts.bench.requests(NAMES).filter((request) => request.startsWith("PUT"))).toEqual([]);
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(M, S, { retry: false })).toBe(false);
    });

    it("removing the last tree of a consumer deletes the consumer", async () => {
      for (const root of [S, D, NFS]) {
        await hosts.client.removeProviderTreeFromInstanceAllocation(I, root, { retry: false });
      }
      expect(await hosts.client.getAllocationsForConsumer(I)).toEqual({
        allocations: {},
        projectId: null,
        userId: null,
        consumerGeneration: null,
      });
    });

    it("upstream: a conflict returns false without a retry", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: false })).toBe(false);
      expect(hosts.bench.sent).toHaveLength(3);
    });

    it("3.3 GAP-a OPT: a conflict is retried after reading again, 4 attempts", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT, times: 3 });
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: true })).toBe(true);
      expect(Object.keys(await held())).toEqual(expect.arrayContaining([D, NFS]));
      await claim(on(S));
      hosts.bench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT, times: 4 });
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: true })).toBe(false);
      expect(Object.keys(await held())).toContain(S);
    });

    it("9.4 answer lost after commit: the repeated call finds nothing to remove", async () => {
      hosts.bench.inject({ on: "PUT /allocations", does: "lose" });
      await expect(hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: true })).rejects.toMatchObject({
        code: "ConnectFailure",
      });
      hosts.bench.mark();
      expect(await hosts.client.removeProviderTreeFromInstanceAllocation(I, S, { retry: true })).toBe(true);
      expect(hosts.bench.requests().some((request) => request.startsWith("PUT"))).toBe(false);
    });
  });

  describe("delete", () => {
    it("5.5 delete force: one DELETE without a generation; 404 is false", async () => {
      await claim(on(S, D));
      hosts.bench.mark();
      expect(await hosts.client.deleteAllocation(I, { force: true })).toBe(true);
      expect(hosts.bench.requests(NAMES)).toEqual(["DELETE /allocations/I"]);
      expect(await hosts.client.deleteAllocation(I, { force: true })).toBe(false);
      expect(await held()).toEqual({});
    });

    it("5.5 delete not force: empties the consumer with the generation read; no allocations is false", async () => {
      await claim(on(S, D));
      hosts.bench.mark();
      expect(await hosts.client.deleteAllocation(I, { force: false })).toBe(true);
      expect(hosts.bench.requests(NAMES)).toEqual(["GET /allocations/I 1.28", "PUT /allocations/I 1.28"]);
      expect(hosts.bench.sent[1]?.body).toEqual({
        allocations: {},
        project_id: "project",
        user_id: "user",
        consumer_generation: 1,
      });
      expect(await hosts.client.deleteAllocation(I, { force: false })).toBe(false);
    });

    it("not force, consumer changed meanwhile: AllocationDeleteFailed, the allocations remain", async () => {
      await claim(on(S));
      hosts.bench.inject({
        on: "PUT /allocations",
        does: async () => {
          await hosts.bench.ask("PUT", `/allocations/${I}`, "1.28", {
            allocations: on(D),
            project_id: "project",
            user_id: "user",
            consumer_generation: 1,
          });
        },
      });
      await expect(hosts.client.deleteAllocation(I, { force: false })).rejects.toMatchObject({
        code: "AllocationDeleteFailed",
      });
      expect(await held()).toEqual({ [D]: FLAVOR });
    });

    it("not force, applied twice: no allocations remain, whatever the second response is", async () => {
      await claim(on(S));
      hosts.bench.inject({
        on: "PUT /allocations",
        does: async () => {
          await hosts.bench.ask("PUT", `/allocations/${I}`, "1.28", {
            allocations: {},
            project_id: "project",
            user_id: "user",
            consumer_generation: 1,
          });
        },
      });
      expect(await hosts.client.deleteAllocation(I, { force: false })).toBe(true);
      expect(await held()).toEqual({});
    });

    it("logs a deletion if there was something to delete", async () => {
      await claim(on(S));
      const requestId = "req-delete";
      await hosts.client.deleteAllocation(I, { force: true, requestId });
      await hosts.client.deleteAllocation(I, { force: true, requestId });
      const deletionLogs = hosts.bench.logs.filter(
        ({ message }) => message === `deleted the allocations of consumer ${I}`,
      );
      expect(deletionLogs).toMatchObject([{ level: "info", fields: { consumer: I, request_id: requestId } }]);
    });

    it("500: AllocationDeleteFailed", async () => {
      hosts.bench.inject({ on: "DELETE /allocations", does: errorResponse(500, "", "oops") });
      const failure = hosts.client.deleteAllocation(I, { force: true });
      await expect(failure).rejects.toMatchObject({ code: "AllocationDeleteFailed" });
      await expect(failure).rejects.toThrow(`Failed to delete allocations for consumer ${I}. Error: `);
    });

    it("9.4 answer lost after commit: null, and false when repeated", async () => {
      await claim(on(S));
      hosts.bench.inject({ on: "DELETE /allocations", does: "lose" });
      expect(await hosts.client.deleteAllocation(I, { force: true })).toBeNull();
      expect(await hosts.client.deleteAllocation(I, { force: true })).toBe(false);
    });
  });
});
