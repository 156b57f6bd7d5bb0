import { beforeEach, describe, expect, test } from "vitest";
import { SERVICE_DELETE_POLICIES } from "../../../../src/control-plane/conductor/service-delete.js";
import { errorResponse, inventoryOf } from "../../../unit/placement-client/bench.js";
import { ServiceDeleteBench } from "./service-delete-bench.js";

let bench: ServiceDeleteBench;
beforeEach(async () => {
  bench = await ServiceDeleteBench.open();
});

const UNKNOWN_CONSUMER = "f0000000-0000-4000-8000-000000000001";

/** Adds nodes with providers to devstack1. @returns their uuids */
async function addNodes(count: number): Promise<readonly string[]> {
  const [first] = bench.store.computeNodes.byHost("devstack1");
  if (!first?.serviceId) {
    throw new Error("no node");
  }
  const { serviceId } = first;
  const { id: _id, uuid: _uuid, ...resources } = first;
  const uuids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const uuid = `20000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const hypervisorHostname = `node${String(index)}`;
    bench.store.computeNodes.create({ host: "devstack1", serviceId, uuid, hypervisorHostname, resources });
    await bench.placement.ask("POST", "/resource_providers", "1.20", { uuid, name: hypervisorHostname });
    uuids.push(uuid);
  }
  return uuids;
}

/** Creates inventory on the provider, and an allocation of it for the consumer. */
async function hold(provider: string, consumer: string): Promise<void> {
  const { generation } = (await bench.placement.ask("GET", `/resource_providers/${provider}`)) as {
    generation: number;
  };
  await bench.placement.ask("PUT", `/resource_providers/${provider}/inventories`, "1.26", {
    resource_provider_generation: generation,
    inventories: { VCPU: { total: 4 }, MEMORY_MB: { total: 4096 }, DISK_GB: { total: 10 } },
  });
  await bench.claim(consumer, provider);
}

describe("7.1 steps 2-8: checks and deletions, and their order", () => {
  test.each(SERVICE_DELETE_POLICIES)("3 %s: a service without compute nodes can be deleted", async (policy) => {
    for (const { id, host } of bench.store.computeNodes.byHost("devstack1")) {
      bench.store.computeNodes.destroy(id, host);
    }
    await bench.remove(policy);
    expect(bench.serviceIsGone).toBe(true);
  });

  test.each(SERVICE_DELETE_POLICIES)("5 %s: the host leaves its aggregates", async (policy) => {
    const [one, two] = ["one", "two"].map((name) => bench.store.aggregates.create({ name, metadata: {} }));
    for (const { id = 0 } of [one ?? {}, two ?? {}]) {
      bench.store.aggregates.addHost(id, "devstack1");
    }
    bench.store.aggregates.addHost(two?.id ?? 0, "devstack2");
    await bench.remove(policy);
    expect(bench.store.aggregates.list().map(({ hosts }) => hosts)).toEqual([[], ["devstack2"]]);
  });

  test.each(SERVICE_DELETE_POLICIES)(
    "5 %s: if Placement rejects a change of aggregates, nothing is deleted",
    async (policy) => {
      const { id } = bench.store.aggregates.create({ name: "one", metadata: {} });
      const { uuid = "" } = bench.store.aggregates.addHost(id, "devstack1");
      await bench.conductor.placement.aggregateAddHost(uuid, "devstack1");
      bench.placement.inject({ on: "PUT /aggregates", does: errorResponse(500, "x", "boom") });
      await expect(bench.remove(policy)).rejects.toThrow(/could not be settled with Placement .*boom/);
      expect([bench.serviceIsGone, await bench.providers()]).toEqual([false, ["devstack1", "devstack2"]]);
      expect(bench.store.aggregates.list().map(({ hosts }) => hosts)).toEqual([["devstack1"]]);
    },
  );

  test.each(SERVICE_DELETE_POLICIES)("6 %s: children are deleted before their parent", async (policy) => {
    const tree = await bench.conductor.placement.getProviderTreeAndEnsureRoot(bench.s, "devstack1");
    const child = bench.placement.runtime.random.uuid();
    tree.newChild("devstack1_gpu", bench.s, child);
    tree.updateInventory(child, { VGPU: inventoryOf(4) });
    await bench.conductor.placement.updateFromProviderTree(tree);
    await bench.remove(policy);
    expect(await bench.providers()).toEqual(["devstack2"]);
  });

  test("6 upstream: a node that fails is logged and does not stop the others", async () => {
    const [, broken] = await addNodes(3);
    bench.placement.inject({ on: `GET /resource_providers?in_tree=${broken}`, does: errorResponse(500, "x", "boom") });
    await bench.remove("upstream");
    expect([bench.serviceIsGone, await bench.providers()]).toEqual([true, ["devstack2", "node1"]]);
    expect(bench.placement.logs.at(-1)).toMatchObject({ level: "error", fields: { provider: broken, consumers: [] } });
  });

  test("8 nodes and host mapping are deleted with the service", async () => {
    expect(bench.store.mappings.host("devstack1")).toBe(true);
    await bench.remove("strict");
    expect(bench.store.computeNodes.byHost("devstack1")).toEqual([]);
    expect(bench.store.mappings.host("devstack1")).toBe(false);
  });

  test("8 an instance that is created after the check is not orphaned", async () => {
    let build = true;
    const server = (await bench.conductor.server("devstack2")).uuid;
    bench.placement.inject({
      on: "DELETE /resource_providers",
      does: () => {
        const [node] = bench.store.computeNodes.byHost("devstack1");
        if (build && node) {
          bench.store.instances.save(server, { host: node.host, node: node.hypervisorHostname, computeId: node.id });
        }
        build = false;
      },
    });
    await expect(bench.remove("strict")).rejects.toThrow("hosting instances");
    expect(bench.serviceIsGone).toBe(false);
  });
});

describe("7.2 several nodes", () => {
  test("strict: one provider with allocations keeps all nodes, providers and records of evacuations", async () => {
    const [, held = ""] = await addNodes(3);
    await hold(held, UNKNOWN_CONSUMER);
    const { i } = await bench.moved("evacuation", "done");
    await bench.claim(i, bench.s);
    bench.placement.mark();
    await expect(bench.remove("strict")).rejects.toThrow(
      JSON.stringify({ provider_uuid: held, consumers: [UNKNOWN_CONSUMER] }),
    );
    expect(await bench.providers()).toEqual(["devstack1", "devstack2", "node0", "node1", "node2"]);
    expect(await bench.held(i)).toEqual([bench.s, bench.d]);
    expect(bench.placement.requests().filter((request) => !request.startsWith("GET"))).toEqual([]);
  });

  test("strict: a claim after the check is a rejection that names the consumer", async () => {
    bench.placement.inject({ on: "DELETE /resource_providers", does: () => bench.claim(UNKNOWN_CONSUMER, bench.s) });
    await expect(bench.remove("strict")).rejects.toThrow(
      JSON.stringify({ provider_uuid: bench.s, consumers: [UNKNOWN_CONSUMER] }),
    );
    expect(bench.serviceIsGone).toBe(false);
  });

  test.each(["strict", "cascade"] as const)(
    "%s: if Placement fails during the deletion, a retry succeeds",
    async (policy) => {
      await addNodes(3);
      bench.placement.inject({ on: "GET /resource_providers?in_tree", does: errorResponse(500, "x", "boom"), skip: 1 });
      await expect(bench.remove(policy)).rejects.toThrow("could not be settled with Placement");
      expect(bench.serviceIsGone).toBe(false);
      await bench.remove(policy);
      expect([bench.serviceIsGone, await bench.providers()]).toEqual([true, ["devstack2"]]);
    },
  );

  test("a rejection names twenty providers and counts the others", async () => {
    for (const [index, node] of (await addNodes(23)).entries()) {
      await hold(node, `f0000000-0000-4000-8000-${String(index).padStart(12, "0")}`);
    }
    const error = await bench.remove("strict").catch((thrown: Error) => thrown);
    expect(String(error).match(/provider_uuid/g)).toHaveLength(20);
    expect(String(error)).toContain("}, and 3 more. Remove them".replace("}, and", "} and"));
  });

  /**
   * Counts the requests for a service with this number of nodes, every tenth of which instances were evacuated from.
   */
  async function requestsFor(nodes: number, policy: "strict" | "upstream"): Promise<{ total: number; most: number }> {
    bench = await ServiceDeleteBench.open();
    const uuids = await addNodes(nodes);
    for (let index = 0; index < nodes; index += 10) {
      const { i } = await bench.moved("evacuation", "done");
      const [{ id } = { id: 0 }] = bench.store.migrations.byFilters({ instanceUuid: i });
      bench.store.migrations.save(id, { sourceNode: `node${index}` });
      await hold(uuids[index] ?? "", i);
    }
    let [running, most] = [0, 0];
    const { request } = bench.placement.http;
    Object.assign(bench.placement.http, {
      request: async (httpRequest: Parameters<typeof request>[0]) => {
        running += 1;
        most = Math.max(most, running);
        const response = await request(httpRequest);
        running -= 1;
        return response;
      },
    });
    bench.placement.mark();
    await bench.remove(policy);
    const total = bench.placement.sent.length;
    expect([bench.serviceIsGone, await bench.providers()]).toEqual([true, ["devstack2"]]);
    return { total, most };
  }

  test.each(["strict", "upstream"] as const)(
    "%s: requests grow linearly with the nodes, at most sixteen at a time",
    async (policy) => {
      const [small, twice] = [await requestsFor(20, policy), await requestsFor(40, policy)];
      expect(twice.total).toBe(2 * small.total - (await requestsFor(0, policy)).total);
      expect(twice.most).toBeLessThanOrEqual(16);
    },
  );

  test.each([
    ["strict", 1 + 3 * 2000],
    ["upstream", 2 * 2000],
  ] as const)("%s: 2,000 nodes take %i requests", async (policy, requests) => {
    const [first] = bench.store.computeNodes.byHost("devstack1");
    if (!first?.serviceId) {
      throw new Error("no node");
    }
    const { id: _id, uuid: _uuid, serviceId, ...resources } = first;
    const providers = new Map([[first.uuid, "devstack1"]]);
    bench.store.transaction(() => {
      for (let index = 1; index < 2000; index += 1) {
        const uuid = `20000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
        const hypervisorHostname = `node${index}`;
        bench.store.computeNodes.create({ host: "devstack1", serviceId, uuid, hypervisorHostname, resources });
        providers.set(uuid, hypervisorHostname);
      }
    });
    let requestCount = 0;
    Object.assign(bench.placement.http, {
      request: async ({ method, url }: { method: string; url: string }) => {
        requestCount += 1;
        return { status: method === "DELETE" ? 204 : 200, headers: {}, body: respond(providers, method, url) };
      },
    });
    await bench.remove(policy);
    expect([bench.serviceIsGone, providers.size, requestCount]).toEqual([true, 0, requests]);
    expect(bench.store.computeNodes.byHost("devstack1")).toEqual([]);
  });
});

/** Responds as a minimal Placement that has empty root providers only. */
function respond(providers: Map<string, string>, method: string, url: string): string {
  const { pathname, searchParams } = new URL(url);
  const [, , uuid = "", allocations] = pathname.split("/");
  if (method === "DELETE") {
    providers.delete(uuid);
    return "";
  }
  if (allocations) {
    return JSON.stringify({ allocations: {}, resource_provider_generation: 0 });
  }
  const tree = searchParams.get("in_tree");
  const roots = tree === null ? [...providers.keys()] : [tree].filter((root) => providers.has(root));
  const wire = roots.map((root) => ({
    ...{ uuid: root, name: providers.get(root), generation: 0 },
    ...{ parent_provider_uuid: null, root_provider_uuid: root },
  }));
  return JSON.stringify({ resource_providers: wire });
}
