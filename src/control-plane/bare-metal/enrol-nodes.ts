import type { NodeStore } from "./node-store.js";
import type { PortStore } from "./port-store.js";

/** Everything about node number `index` follows from its number. */
function enrolledNode(index: number) {
  const digits = String(index).padStart(12, "0");
  return {
    name: `bm-${digits.slice(-6)}`,
    uuid: `ba5eba11-0000-4000-8000-${digits}`,
    port: {
      uuid: `ba5eba11-0001-4000-8000-${digits}`,
      address: `52:54:00:${[16, 8, 0].map((shift) => ((index >> shift) & 255).toString(16).padStart(2, "0")).join(":")}`,
    },
  };
}

const ENROLLED_PROPERTIES = { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" };

/** Makes nodes 0 to `count` - 1, those that are not there yet: available, powered off, of class `baremetal`, with a port each. */
export function enrolNodes(nodes: NodeStore, ports: PortStore, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const { name, uuid, port } = enrolledNode(index);
    if (nodes.find(uuid) || nodes.findByName(name)) {
      continue;
    }
    const node = nodes.create({
      uuid,
      name,
      resource_class: "baremetal",
      properties: ENROLLED_PROPERTIES,
      provision_state: "available",
      power_state: "power off",
    });
    ports.create(port, node);
  }
}
