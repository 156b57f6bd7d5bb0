import { CAPABILITY_TRAITS, type CallOptions, type Instance, type ProviderTree } from "../../../../src/virt/index.js";
import { Complaint, type Flaws, nothing } from "./flaw.js";

const OTHER = "66666666-6666-4666-8666-666666666666";
const EVERYTHING = {
  network: [],
  blockDevices: { rootDeviceName: "/dev/vda", localDisks: [], volumes: [] },
  destroyDisks: true,
};

/** Flaws of sections 8.1, 8.4, 8.5, 8.14 and 3.3. */
export const HOST_FLAWS: Flaws = {
  "late-effects": (right) => ({
    initHost: async ({ epoch: _epoch, ...options }: CallOptions = {}) => right.initHost(options),
  }),
  "nodes-are-listed": () => {
    let calls = 0;
    return { getAvailableNodes: async () => [`node-${calls++}`] };
  },
  "nodes-have-uuids": (right, { random }) => ({
    getNodenamesByUuid: async () => new Map((await right.getAvailableNodes()).map((node) => [random.uuid(), node])),
  }),
  "node-identities": (right) => ({
    getNodenamesByUuid: async () => new Map((await right.getAvailableNodes()).map((node) => [OTHER, node])),
  }),
  "nodes-have-resources": (right) => ({
    getAvailableResource: async (node: string) => ({
      ...(await right.getAvailableResource(node)),
      hypervisorHostname: "localhost",
    }),
  }),
  "nodes-stay": () => ({ isNodeDeleted: async () => true }),
  "guests-are-listed": () => ({ listInstanceUuids: async () => [] }),
  "exists-as-listed": () => ({ instanceExists: async () => true }),
  "info-of-absent": () => ({ getInfo: async () => ({ state: 1 }) }),
  "guests-outlive-driver": (right) => ({
    cleanupHost: async () => {
      for (const uuid of await right.listInstanceUuids()) {
        await right.destroy({ uuid } as Instance, EVERYTHING);
      }
      await right.cleanupHost();
    },
  }),
  "cleanup-is-final": () => ({ cleanupHost: () => Promise.reject(new Complaint("nothing to clean up")) }),
  "cleanup-ends-events": (_, { emitEvent, clock, timers }) => ({
    cleanupHost: async () => {
      timers.after(10, () =>
        emitEvent({ timestamp: clock.now(), uuid: OTHER, name: "another", transition: "started" }),
      );
    },
  }),
  "cleanup-ends-timers": (right, { timers }) => ({
    initHost: async () => {
      await right.initHost();
      timers.after(3_600_000, () => {});
    },
  }),
  "host-has-address": (_, { random }) => ({ getHostIpAddr: () => `192.0.2.${random.integer(0, 200)}` }),
  "host-enabled-again": () => {
    let known: boolean | null = null;
    return {
      setHostEnabled: async (enabled: boolean) => {
        if (enabled === known) {
          throw new Complaint("it is so already");
        }
        known = enabled;
      },
    };
  },
  "startup-list-kept": () => ({
    processInstancesAtStartup: async ([first]: readonly Instance[]) => [{ ...first, uuid: OTHER }],
  }),
  "uptime-is-told": () => ({ getHostUptime: async () => "long enough" }),
  "console-is-kept": (right) => {
    let rebooted = false;
    return {
      getConsoleOutput: async (...args: Parameters<typeof right.getConsoleOutput>) =>
        `${rebooted ? "" : "the memory of one agent"}${(await right.getConsoleOutput(...args)).slice(0, rebooted ? 1 : 5)}`,
      initHost: async (options?: CallOptions) => {
        await right.initHost(options);
        rebooted = (await right.listInstanceUuids()).length > 0;
      },
    };
  },
  "console-of-absent": () => ({ getConsoleOutput: async () => "" }),
  "diagnostics-count": (right) => ({
    getInstanceDiagnostics: async (...args: Parameters<typeof right.getInstanceDiagnostics>) => ({
      ...(await right.getInstanceDiagnostics(...args)),
      cpuDetails: [],
    }),
  }),
  "diagnostics-of-absent": () => ({ getDiagnostics: async () => ({ memory: 1024 }) }),
  "methods-together": () => ({ unpause: undefined }),
  "capabilities-kept": (right) => {
    let spawned = false;
    return {
      get capabilities() {
        return { ...right.capabilities, supportsVtpm: spawned };
      },
      spawn: async (...args: Parameters<typeof right.spawn>) => {
        await right.spawn(...args);
        spawned = CAPABILITY_TRAITS.supportsMultiattach !== undefined;
      },
    };
  },
  "events-are-of-guests": (right, { emitEvent, clock }) => ({
    powerOff: async (...args: Parameters<typeof right.powerOff>) => {
      await right.powerOff(...args);
      emitEvent({ timestamp: clock.now(), uuid: OTHER, name: "another", transition: "stopped" });
    },
  }),
  "events-imply-state": (right, { emitEvent, clock, timers }) => ({
    powerOff: async (...args: Parameters<typeof right.powerOff>) => {
      await right.powerOff(...args);
      const [{ uuid, displayName: name }] = args;
      timers.after(1, () => emitEvent({ timestamp: clock.now(), uuid, name, transition: "paused" }));
    },
  }),
  "storage-not-shared": () => ({ checkInstanceSharedStorageRemote: async () => true }),
  "storage-absent": () => ({ checkInstanceSharedStorageLocal: async () => ({ anything: true }) }),
};

type Update = (
  tree: ProviderTree,
  node: string,
  options?: { allocations?: Map<string, Map<string, object>> },
) => Promise<void>;

/** Flaws of section 8.7. */
export const TREE_FLAWS: Flaws = {
  "tree-inventory": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      tree.updateInventory(node, { ...tree.data(node).inventory, VCPU: { total: 4, maxUnit: 8 } });
    }) satisfies Update,
  }),
  "tree-idempotent": (right) => {
    let calls = 0;
    return {
      updateProviderTree: (async (tree, node) => {
        await right.updateProviderTree(tree, node);
        calls += 1;
        tree.updateInventory(node, { ...tree.data(node).inventory, CUSTOM_CALLS: { total: calls } });
      }) satisfies Update,
    };
  },
  "tree-after-restart": (right, { random }) => {
    const own = `CUSTOM_RUN_${random.hex(4).toUpperCase()}`;
    return {
      updateProviderTree: (async (tree, node) => {
        await right.updateProviderTree(tree, node);
        tree.addTraits(node, own);
      }) satisfies Update,
    };
  },
  "tree-while-used": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      const free = 8 - (await right.listInstanceUuids()).length;
      tree.updateInventory(node, { ...tree.data(node).inventory, VCPU: { total: free } });
    }) satisfies Update,
  }),
  "tree-foreign": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      tree.updateTraits(node, ["CUSTOM_MINE"]);
    }) satisfies Update,
  }),
  "tree-children": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      if (!tree.exists(OTHER)) {
        tree.newChild("gpu", node, OTHER);
      }
    }) satisfies Update,
  }),
  "tree-root-stays": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      tree.remove(node);
    }) satisfies Update,
  }),
  "tree-two-hosts": (right) => ({
    updateProviderTree: (async (tree, node) => {
      await right.updateProviderTree(tree, node);
      if (!tree.exists(OTHER)) {
        tree.newChild(`${node}-gpu`, node, OTHER);
      }
    }) satisfies Update,
  }),
  "tree-unknown-node": () => ({
    updateProviderTree: (async (tree, node) =>
      void tree.updateInventory(node, { VCPU: { total: 1 } })) satisfies Update,
  }),
  "tree-reshape": (right) => ({
    updateProviderTree: (async (tree, node, options) => {
      await right.updateProviderTree(tree, node, options as never);
      options?.allocations?.clear();
    }) satisfies Update,
    initHost: right.initHost,
    cleanupHost: nothing,
  }),
};
