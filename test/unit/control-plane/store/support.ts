import type { DefaultRatios } from "../../../../src/control-plane/store/compute-nodes.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type {
  ComputeNode,
  ComputeNodeResources,
  Flavor,
  Instance,
  NewInstance,
  Service,
} from "../../../../src/records/index.js";
import { createVirtualRuntime, type VirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { aFlavor, nodeResources } from "../../../fixtures/records.js";

export const UNKNOWN_UUID = "ffffffff-ffff-4fff-8fff-ffffffffffff";

export const RESOURCES: ComputeNodeResources = nodeResources({
  memoryMb: 16_384,
  memoryMbUsed: 512,
  freeRamMb: -5,
  freeDiskGb: -1,
  hypervisorVersion: 2_000_000,
  supportedHvSpecs: [["x86_64", "fake", "hvm"]],
  stats: { failed_builds: "0" },
});

export const FLAVOR: Flavor = aFlavor({ extraSpecs: { "hw:cpu_policy": "shared" } });

export async function memoryStore(
  options: { readonly ratios?: Partial<DefaultRatios>; readonly seed?: number } = {},
): Promise<{ readonly store: Store; readonly runtime: VirtualRuntime }> {
  const runtime = createVirtualRuntime({ seed: options.seed ?? 1 });
  const { ratios = {} } = options;
  return { store: emptyStore({ runtime, ratios }), runtime };
}

export function addService(store: Store, host = "devstack1", values: Partial<Service> = {}): Service {
  return store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73, ...values });
}

let nodes = 0;

export function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${number.toString().padStart(12, "0")}`;
}

export function addNode(store: Store, service: Service, name = service.host, uuid?: string): ComputeNode {
  nodes += 1;
  return store.computeNodes.create({
    host: service.host,
    serviceId: service.id,
    uuid: uuid ?? uuidOf(1_000_000 + nodes),
    hypervisorHostname: name,
    resources: RESOURCES,
  });
}

export function newInstance(uuid: string, values: Partial<NewInstance> = {}): NewInstance {
  return {
    uuid,
    projectId: "project",
    userId: "user",
    displayName: "vm1",
    hostname: "vm1",
    reservationId: "r-1",
    imageRef: "image",
    flavor: FLAVOR,
    ...values,
  };
}

export function addInstance(store: Store, uuid = uuidOf(1), values: Partial<NewInstance> = {}): Instance {
  return store.instances.create(newInstance(uuid, values));
}

/** Returns the error that the action throws. */
export function errorOf(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
