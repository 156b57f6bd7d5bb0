import { createVirtualRuntime, type VirtualRuntime } from "../../../src/runtime/virtual/index.js";
import type { DriverContext, Instance, InventoryOptions, VirtDriver } from "../../../src/virt/index.js";

export const UUID = "11111111-1111-4111-8111-111111111111";
export const OTHER_UUID = "22222222-2222-4222-8222-222222222222";
export const NODE_UUID = "99999999-9999-4999-8999-999999999999";

export const INVENTORY_OPTIONS: InventoryOptions = {
  cpuAllocationRatio: null,
  ramAllocationRatio: null,
  diskAllocationRatio: null,
  initialCpuAllocationRatio: 4,
  initialRamAllocationRatio: 1,
  initialDiskAllocationRatio: 1,
  reservedHostCpus: 0,
  reservedHostMemoryMb: 512,
  reservedHostDiskMb: 0,
};

export const instanceOf = (changes: Partial<Instance> = {}): Instance => ({
  id: 42,
  uuid: UUID,
  projectId: "0123456789abcdef0123456789abcdef",
  userId: "fedcba9876543210fedcba9876543210",
  displayName: "vm1",
  displayDescription: null,
  hostname: "vm1",
  reservationId: "r-1",
  launchIndex: 0,
  imageRef: "33333333-3333-4333-8333-333333333333",
  host: "devstack1",
  node: "devstack1",
  computeId: 1,
  launchedOn: "devstack1",
  availabilityZone: null,
  vmState: "active",
  taskState: null,
  powerState: 1,
  flavor: {
    id: 1,
    flavorid: "m1",
    name: "m1.small",
    vcpus: 2,
    memoryMb: 2048,
    rootGb: 20,
    ephemeralGb: 0,
    swap: 0,
    rxtxFactor: 1,
    disabled: false,
    isPublic: true,
    extraSpecs: {},
    description: null,
  },
  oldFlavor: null,
  newFlavor: null,
  instanceTypeId: 1,
  vcpus: 2,
  memoryMb: 2048,
  rootGb: 20,
  ephemeralGb: 0,
  metadata: {},
  systemMetadata: {},
  migrationContext: null,
  configDrive: false,
  keyName: null,
  userData: null,
  tags: [],
  locked: false,
  lockedReason: null,
  progress: 0,
  hidden: false,
  cleaned: false,
  deleted: 0,
  deletedAt: null,
  createdAt: 0,
  updatedAt: null,
  launchedAt: null,
  terminatedAt: null,
  ...changes,
});

export type HostContext = Omit<DriverContext, "emitEvent">;

export const contextOf = (
  runtime: Pick<VirtualRuntime, "clock" | "timers" | "random" | "http" | "files" | "logger">,
  changes: Partial<HostContext> = {},
): HostContext => ({
  host: "devstack1",
  clock: runtime.clock,
  timers: runtime.timers,
  random: runtime.random,
  http: runtime.http,
  files: runtime.files,
  logger: runtime.logger,
  config: {},
  inventory: INVENTORY_OPTIONS,
  myIp: "127.0.0.1",
  localNodeUuid: async () => NODE_UUID,
  ...changes,
});

export const virtualContext = (changes: Partial<HostContext> = {}) => {
  const runtime = createVirtualRuntime();
  return { runtime, context: contextOf(runtime, changes) };
};

/** What a driver must have, doing nothing, and what the test wants instead. Values of any type, as from plain JavaScript. */
export const driverWith = (changes: Readonly<Record<string, unknown>> = {}): VirtDriver => {
  const nothing = async () => {};
  const driver: VirtDriver = {
    capabilities: {},
    initHost: nothing,
    cleanupHost: nothing,
    listInstanceUuids: async () => [],
    getAvailableNodes: async () => ["devstack1"],
    getAvailableResource: async () => {
      throw new Error("unused");
    },
    updateProviderTree: nothing,
    getHostIpAddr: () => "127.0.0.1",
    getInfo: async () => ({ state: 1 }),
    spawn: nothing,
    destroy: nothing,
    powerOff: nothing,
    powerOn: nothing,
    reboot: nothing,
  };
  return Object.assign(driver, changes);
};
