import { driver as definition } from "../../../../../drivers/ironic/index.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../../src/virt/create-driver-host.js";
import type { Instance, InstanceStates, SpawnOptions, Timers } from "../../../../../src/virt/index.js";
import { contextOf, imageOf, instanceOf, WORKAROUNDS } from "../../../virt/fixtures.js";
import { FakeIronic } from "./fake-ironic.js";

export interface World {
  readonly ironic?: FakeIronic;
  readonly host?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly quirks?: readonly string[];
  readonly skipReserveInUseIronicNodes?: boolean;
}

/** Creates a driver on a {@link FakeIronic}. Waits take no time and are recorded. */
export async function ironicDriver(world: World = {}) {
  const { ironic = new FakeIronic(), host = "compute-1" } = world;
  const runtime = createVirtualRuntime();
  const slept: number[] = [];
  const timers: Timers = { sleep: async (milliseconds) => void slept.push(milliseconds), after: () => () => {} };
  /** The records that the driver reads; tests change them. */
  const records = {
    instances: [] as string[],
    hosts: [] as string[],
    states: { vmState: "building", taskState: "spawning" } as InstanceStates | null,
    calls: [] as string[],
  };
  const driver = await createDriverHost(definition, {
    ...contextOf(runtime),
    timers,
    http: ironic,
    host,
    config: { endpoint_override: "http://ironic", ...world.config },
    workarounds: {
      ...WORKAROUNDS,
      upstreamQuirks: new Set(world.quirks ?? []),
      skipReserveInUseIronicNodes: world.skipReserveInUseIronicNodes ?? false,
    },
    virtApi: {
      instanceUuidsOfHost: async () => {
        records.calls.push("instances");
        return records.instances;
      },
      liveHosts: async (type) => {
        records.calls.push(`hosts of ${type}`);
        return records.hosts;
      },
      waitForVifs: (_uuid, _ports, plug) => plug(),
      instanceStates: async () => records.states,
    },
  });
  return { driver, ironic, records, slept, runtime };
}

export const INSTANCE = "11111111-2222-4333-8444-555555555555";

/** Returns the instance with which the calls of Nova master were recorded. */
export function bareMetal(node: string, changes: Partial<Instance> = {}): Instance {
  const instance = instanceOf();
  return {
    ...instance,
    uuid: INSTANCE,
    node,
    host: "peer-compute",
    displayName: "vm-1",
    projectId: "p",
    userId: "u",
    systemMetadata: { owner_project_name: "pn", owner_user_name: "un" },
    vcpus: 48,
    memoryMb: 196_608,
    rootGb: 900,
    flavor: {
      ...instance.flavor,
      name: "bm",
      vcpus: 48,
      memoryMb: 196_608,
      rootGb: 900,
      extraSpecs: { "capabilities:boot_mode": "uefi", "trait:CUSTOM_BM": "required", "resources:VCPU": "0" },
    },
    ...changes,
  };
}

export function spawnOptions(changes: Partial<SpawnOptions> = {}): SpawnOptions {
  return {
    image: { ...imageOf(), id: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", open: async () => null },
    allocations: {},
    network: [],
    blockDevices: { rootDeviceName: "/dev/sda", localDisks: [], volumes: [] },
    powerOn: true,
    ...changes,
  };
}

export const DESTROY = {
  network: [],
  blockDevices: { rootDeviceName: "/dev/sda", localDisks: [], volumes: [] },
  destroyDisks: true,
};
