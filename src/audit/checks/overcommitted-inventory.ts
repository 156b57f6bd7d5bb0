import type { Inventory } from "../read/records.js";
import { capacity, usedOf } from "./capacity.js";
import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { refreshed } from "./stale-inventory.js";
import { providerSubject } from "./subjects.js";

/** Providers of which more is held than they offer: an inventory has shrunk below its use. */
export function overcommittedInventories(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.providers.values()].flatMap((provider) => {
    const node = index.node(provider.uuid);
    const { uuid, inventories } = provider;
    const offered = (node && refreshed(node, provider)) ?? inventories;
    // The ironic driver reserves a node while an instance has it (spec 8.9).
    const limit = (inventory: Inventory) =>
      capacity(node?.type === "ironic" ? { ...inventory, reserved: 0 } : inventory);
    // What the compute node's own totals would mend is a stale inventory.
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
      explanation: `more is held than the provider offers: ${details.join(", ")}`,
      remedies: [],
      left: "move servers away, or raise the allocation ratio or lower what is reserved in the host's nova.conf",
    };
  });
}
