import type { Hypervisor, Inventory, Provider } from "../read/records.js";
import { capacity, usedOf } from "./capacity.js";
import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { providerSubject } from "./subjects.js";

/** Providers whose totals are not those of their compute node: the agent's last write to Placement is missing. */
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

/** The inventories with the compute node's totals; undefined: nothing differs, or the totals are not known. */
export function refreshed(
  { totals, type }: Hypervisor,
  { inventories }: Provider,
): Readonly<Record<string, Inventory>> | undefined {
  if (totals === null || type === "ironic") {
    return undefined;
  }
  const changed = Object.entries(totals).flatMap(([name, total]) => {
    const inventory = inventories[name];
    // CPUs that are set apart for dedicated use are counted with the others.
    const expected = name === "VCPU" ? total - (inventories.PCPU?.total ?? 0) : total;
    if (!inventory || expected <= 0 || inventory.total === expected) {
      return [];
    }
    const max_unit = inventory.max_unit === inventory.total ? expected : inventory.max_unit;
    return [[name, { ...inventory, total: expected, max_unit }] as const];
  });
  return changed.length === 0 ? undefined : { ...inventories, ...Object.fromEntries(changed) };
}
