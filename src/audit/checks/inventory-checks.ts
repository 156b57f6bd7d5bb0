import type { Hypervisor, Inventory, Provider } from "../read/records.js";
import { type Finding, providerSubject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

/**
 * Reports providers whose totals differ from their compute node's, because the agent's last write to Placement is
 * missing.
 */
export function staleInventories(index: SnapshotIndex): Finding[] {
  return index.snapshot.hypervisors.flatMap((node) => {
    const provider = index.provider(node.uuid);
    const fresh = provider && refreshed(node, provider);
    if (!provider || !fresh) {
      return [];
    }
    const changes = Object.entries(fresh)
      .filter(([name, { total }]) => total !== provider.inventories[name]?.total)
      .map(([name, { total }]) => `${name} ${provider.inventories[name]?.total} instead of ${total}`);
    const tight = Object.entries(fresh).find(
      ([name, inventory]) => capacity(inventory) < usedOf(index, provider.uuid, name),
    );
    return {
      code: "stale-inventory" as const,
      subject: providerSubject(index, provider.uuid),
      provider: null,
      explanation: `the totals differ from those of compute node ${node.name}: ${changes.join(", ")}`,
      remedies: tight ? [] : [{ kind: "set-inventories" as const, uuid: provider.uuid, inventories: fresh }],
      left: tight
        ? `with the compute node's totals ${tight[0]} would be over-committed; move servers away first`
        : null,
    };
  });
}

/** Returns the inventories with the compute node's totals, or undefined if they are equal or the totals are unknown. */
function refreshed(
  { totals, type }: Hypervisor,
  { inventories }: Provider,
): Readonly<Record<string, Inventory>> | undefined {
  if (totals === null || type === "ironic") {
    return undefined;
  }
  const changed = Object.entries(totals).flatMap(([name, total]) => {
    const inventory = inventories[name];
    // The compute node's count includes CPUs that are reserved for dedicated use.
    const expected = name === "VCPU" ? total - (inventories.PCPU?.total ?? 0) : total;
    if (!inventory || expected <= 0 || inventory.total === expected) {
      return [];
    }
    const max_unit = inventory.max_unit === inventory.total ? expected : inventory.max_unit;
    return [[name, { ...inventory, total: expected, max_unit }] as const];
  });
  return changed.length === 0 ? undefined : { ...inventories, ...Object.fromEntries(changed) };
}

/** Returns the capacity as Placement computes it (spec 5.4). */
function capacity({ total, reserved, allocation_ratio }: Inventory): number {
  return Math.floor((total - reserved) * allocation_ratio);
}

function usedOf(index: SnapshotIndex, uuid: string, resourceClass: string): number {
  return index.holders(uuid).reduce((sum, { held }) => sum + (held[uuid]?.[resourceClass] ?? 0), 0);
}

/** Reports providers with more allocated than their capacity, because an inventory has shrunk below its use. */
export function overcommittedInventories(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.providers.values()].flatMap((provider) => {
    const node = index.node(provider.uuid);
    const { uuid, inventories } = provider;
    const offered = (node && refreshed(node, provider)) ?? inventories;
    // The ironic driver reserves a node while an instance has it (spec 8.9).
    const limit = (inventory: Inventory) =>
      capacity(node?.type === "ironic" ? { ...inventory, reserved: 0 } : inventory);
    // If the compute node's own totals would suffice, the problem is reported as a stale inventory.
    const over = Object.entries(inventories).filter(
      ([name, inventory]) =>
        usedOf(index, uuid, name) > limit(inventory) && usedOf(index, uuid, name) > limit(offered[name] ?? inventory),
    );
    if (over.length === 0) {
      return [];
    }
    const details = over.map(([name, inventory]) => `${usedOf(index, uuid, name)} ${name} of ${limit(inventory)}`);
    return {
      code: "overcommitted-inventory" as const,
      subject: providerSubject(index, uuid),
      provider: null,
      explanation: `more is allocated than the provider's capacity: ${details.join(", ")}`,
      remedies: [],
      left: "move servers away, or raise the allocation ratio or lower the reserved amounts in the host's nova.conf",
    };
  });
}
