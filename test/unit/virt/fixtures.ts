import { createVirtualRuntime, type VirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { type DriverHostOptions, LOCAL_DISKS } from "../../../src/virt/driver-host.js";
import {
  type DriverContext,
  type DriverHostDeps,
  type DriverWorkarounds,
  defineDriver,
  type ImageMeta,
  type Instance,
  type InventoryOptions,
  type Migration,
  type VirtApi,
  type VirtDriver,
} from "../../../src/virt/index.js";
import { aFlavor, aMigration, anInstance } from "../../fixtures/records.js";

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

const VIRT_API: VirtApi = {
  instanceUuidsOfHost: async () => [],
  liveHosts: async () => [],
  waitForVifs: (_uuid, _ports, plug) => plug(),
  instanceStates: async () => null,
};

export const WORKAROUNDS: DriverWorkarounds = { upstreamQuirks: new Set(), skipReserveInUseIronicNodes: false };

export function instanceOf(changes: Partial<Instance> = {}): Instance {
  return anInstance({
    id: 42,
    uuid: UUID,
    projectId: "0123456789abcdef0123456789abcdef",
    userId: "fedcba9876543210fedcba9876543210",
    displayName: "vm1",
    hostname: "vm1",
    reservationId: "r-1",
    imageRef: "33333333-3333-4333-8333-333333333333",
    host: "devstack1",
    node: "devstack1",
    launchedOn: "devstack1",
    flavor: aFlavor({ flavorid: "m1", name: "m1.small", vcpus: 2, memoryMb: 2048, rootGb: 20 }),
    vcpus: 2,
    memoryMb: 2048,
    rootGb: 20,
    createdAt: 0,
    ...changes,
  });
}

export type HostContext = DriverHostDeps;

export function contextOf(
  runtime: Pick<VirtualRuntime, "clock" | "timers" | "random" | "http" | "files" | "programs" | "streams" | "logger">,
  changes: Partial<HostContext> = {},
): HostContext {
  return {
    host: "devstack1",
    clock: runtime.clock,
    timers: runtime.timers,
    random: runtime.random,
    http: runtime.http,
    files: runtime.files,
    processes: runtime.programs,
    sockets: runtime.streams,
    logger: runtime.logger,
    config: {},
    inventory: INVENTORY_OPTIONS,
    workarounds: WORKAROUNDS,
    stateFolder: "/state/driver",
    virtApi: VIRT_API,
    images: { open: async () => null, upload: async () => {} },
    myIp: "127.0.0.1",
    localNodeUuid: async () => NODE_UUID,
    ...changes,
  };
}

export function virtualContext(changes: Partial<HostContext> = {}) {
  const runtime = createVirtualRuntime();
  return { runtime, context: contextOf(runtime, changes) };
}

/**
 * Creates a driver with only the required methods, which do nothing, and these changes. Their values may have any type, as
 * in plain JavaScript.
 */
export function driverWith(changes: Readonly<Record<string, unknown>> = {}): VirtDriver {
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
}

export const NO_DEVICES = { network: [], blockDevices: LOCAL_DISKS } as const;

export function imageOf(changes: Partial<ImageMeta> = {}): ImageMeta {
  return {
    id: "33333333-3333-4333-8333-333333333333",
    name: "cirros",
    diskFormat: "qcow2",
    containerFormat: "bare",
    minDisk: 0,
    minRam: 0,
    properties: {},
    ...changes,
  };
}

export const spawnOptions = { ...NO_DEVICES, image: imageOf(), allocations: {}, powerOn: true } as const;

/** Creates a cold migration of {@link instanceOf} from devstack1 to devstack2. */
export function migrationOf(changes: Partial<Migration> = {}): Migration {
  return aMigration({
    uuid: "44444444-4444-4444-8444-444444444444",
    instanceUuid: UUID,
    migrationType: "migration",
    sourceCompute: "devstack1",
    sourceNode: "devstack1",
    destCompute: "devstack2",
    destNode: "devstack2",
    destComputeId: 2,
    destHost: "127.0.0.2",
    oldInstanceTypeId: 1,
    newInstanceTypeId: 1,
    createdAt: 0,
    ...changes,
  });
}

/** Creates a host with the driver {@link driverWith} these changes. */
export async function hostOf(changes: Readonly<Record<string, unknown>> = {}, options: DriverHostOptions = {}) {
  const { runtime, context } = virtualContext();
  let driverContext: DriverContext | undefined;
  const definition = defineDriver({
    name: "broken",
    apiVersion: "1.0",
    create: (provided) => {
      driverContext = provided;
      return driverWith(changes);
    },
  });
  const host = await createDriverHost(definition, context, options);
  const emit = (event: unknown) => driverContext?.emitEvent(event as never);
  return { runtime, host, emit };
}
