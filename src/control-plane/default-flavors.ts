import type { Store } from "./store/store.js";

/** devstack's first flavors: id, name, vCPUs, memory in MiB, disk in GiB. */
const FLAVORS = [
  ["1", "m1.tiny", 1, 512, 1],
  ["2", "m1.small", 1, 2048, 20],
  ["3", "m1.medium", 2, 4096, 40],
  ["4", "m1.large", 4, 8192, 80],
  ["5", "m1.xlarge", 8, 16384, 160],
] as const;

/** Creates the default flavors in a cloud without any flavor. */
export function ensureDefaultFlavors(store: Store): void {
  if (store.flavors.list().length > 0) {
    return;
  }
  store.transaction(() => {
    for (const [flavorid, name, vcpus, memoryMb, rootGb] of FLAVORS) {
      store.flavors.create({ flavorid, name, vcpus, memoryMb, rootGb });
    }
  });
}

/** Creates the flavor for the embedded Ironic's nodes: one unit of their resource class, and no other resource. */
export function ensureBaremetalFlavor(store: Store): void {
  const flavors = store.flavors.list();
  if (flavors.some(({ flavorid, name }) => flavorid === "baremetal" || name === "baremetal")) {
    return;
  }
  store.flavors.create({
    flavorid: "baremetal",
    name: "baremetal",
    vcpus: 48,
    memoryMb: 196_608,
    rootGb: 960,
    extraSpecs: {
      "resources:CUSTOM_BAREMETAL": "1",
      "resources:VCPU": "0",
      "resources:MEMORY_MB": "0",
      "resources:DISK_GB": "0",
    },
  });
}
