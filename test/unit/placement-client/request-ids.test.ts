import { expect, it } from "vitest";
import type { ReportClient } from "../../../src/placement-client/report-client.js";
import { inventoryOf } from "./bench.js";
import { CHILD, D, I, M, NFS, on, S, twoHosts } from "./two-hosts.js";

const AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000001";
const CONTEXT = { requestId: "req-1" };
const hosts = twoHosts();

it.each<[string, (client: ReportClient) => Promise<unknown>]>([
  ["beginPass of one", (client) => client.beginPass([S], CONTEXT)],
  ["beginPass of many", (client) => client.beginPass([S, D], CONTEXT)],
  ["listProviders", (client) => client.listProviders(CONTEXT)],
  [
    "a tree with all there is to write",
    async (client) => {
      client.clearProviderCache();
      const tree = await client.getProviderTreeAndEnsureRoot(S, "devstack1", CONTEXT);
      tree.newChild("devstack1_gpu", S, CHILD);
      tree.updateInventory(CHILD, { VGPU: inventoryOf(2), CUSTOM_LANE: inventoryOf(1) });
      tree.addTraits(CHILD, "CUSTOM_FAST");
      tree.addAggregates(S, AGGREGATE);
      await client.updateFromProviderTree(tree, CONTEXT);
      tree.remove(CHILD);
      await client.updateFromProviderTree(tree, CONTEXT);
    },
  ],
  [
    "a reshape",
    async (client) => {
      client.clearProviderCache();
      const tree = await client.getProviderTreeAndEnsureRoot(S, "devstack1", CONTEXT);
      const reshape = await client.getAllocationsForProviderTree(S, CONTEXT);
      await client.updateFromProviderTree(tree, { ...CONTEXT, reshape });
    },
  ],
  ["getAllocationsForProvider", (client) => client.getAllocationsForProvider(S, CONTEXT)],
  ["getAllocationsForConsumer", (client) => client.getAllocationsForConsumer(I, CONTEXT)],
  [
    "getAllocationCandidates",
    (client) => {
      const groups = [{ suffix: "", resources: { VCPU: 1 } }];
      return client.getAllocationCandidates({ groups, rootRequired: [], limit: 1 }, CONTEXT);
    },
  ],
  [
    "claimResources",
    (client) => {
      const claim = { consumer: M, request: { allocations: on(S) }, projectId: "p", userId: "u", version: "1.36" };
      return client.claimResources({ ...claim, held: "double" }, CONTEXT);
    },
  ],
  [
    "putAllocations",
    (client) => {
      const read = { allocations: {}, projectId: null, userId: null, consumerGeneration: null };
      const write = { read, allocations: on(S), projectId: "p", userId: "u" };
      return client.putAllocations(M, write, CONTEXT);
    },
  ],
  ["addResources", (client) => client.addResources(I, on(D), CONTEXT)],
  ["removeResources", (client) => client.removeResources(I, { [S]: { resources: { VCPU: 1 } } }, CONTEXT)],
  [
    "removeProviderTreeFromInstanceAllocation",
    (client) => client.removeProviderTreeFromInstanceAllocation(I, S, { retry: true, ...CONTEXT }),
  ],
  ["deleteAllocation", (client) => client.deleteAllocation(I, { force: false, ...CONTEXT })],
  ["deleteAllocation by force", (client) => client.deleteAllocation(I, { force: true, ...CONTEXT })],
  [
    "moveAllocations",
    (client) => client.moveAllocations(I, M, { ...CONTEXT, targetDeleted: () => Promise.resolve(true) }),
  ],
  ["getProviderTraits", (client) => client.getProviderTraits(S, CONTEXT)],
  [
    "setTraitsForProvider",
    async (client) => {
      const { generation } = await client.getProviderTraits(S, CONTEXT);
      await client.setTraitsForProvider(S, { traits: ["CUSTOM_NEW"], generation }, CONTEXT);
    },
  ],
  [
    "deleteResourceProvider",
    (client) => client.deleteResourceProvider(NFS, { ...CONTEXT, cascade: { instances: [M], evacuated: [I] } }),
  ],
  [
    "aggregateAddHost and aggregateRemoveHost",
    async (client) => {
      await client.aggregateAddHost(AGGREGATE, "devstack1", CONTEXT);
      await client.aggregateRemoveHost(AGGREGATE, "devstack1", CONTEXT);
    },
  ],
])("each request of %s has the id of the API request", async (_what, ask) => {
  await hosts.claim(on(S));
  hosts.bench.mark();
  await ask(hosts.client);
  const unnamed = hosts.bench.sent.filter(({ headers }) => headers["x-openstack-request-id"] !== "req-1");
  expect(unnamed.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  expect(hosts.bench.sent).not.toEqual([]);
});

it("a request outside an operation has no id", async () => {
  await hosts.client.getAllocationsForConsumer(I);
  expect(hosts.bench.sent[0]?.headers).not.toHaveProperty("x-openstack-request-id");
});
