import type { Inventory } from "../read/records.js";
import { capacity, usedOf } from "./capacity.js";
import type { Finding } from "./finding.js";
import type { Facts } from "./inputs.js";
import { refreshed } from "./stale-inventory.js";
import { providerSubject } from "./subjects.js";

/** Providers of which more is held than they offer: an inventory has shrunk below its use. */
export function overcommittedInventories(facts: Facts): Finding[] {
  return [...facts.snapshot.providers.values()].flatMap((provider) => {
    const node = facts.node(provider.uuid);
    const { uuid, inventories } = provider;
    const offered = (node && refreshed(node, provider)) ?? inventories;
    // The ironic driver reserves a node while an instance has it (spec 8.9).
    const limit = (inventory: Inventory) =>
      capacity(node?.type === "ironic" ? { ...inventory, reserved: 0 } : inventory);
    // What the compute node's own totals would mend is a stale inventory.
    const over = Object.entries(inventories).filter(
      ([name, inventory]) =>
        usedOf(facts, uuid, name) > limit(inventory) && usedOf(facts, uuid, name) > limit(offered[name] ?? inventory),
    );
    if (over.length === 0) {
      return [];
    }
    const told = over.map(([name, inventory]) => `${usedOf(facts, uuid, name)} ${name} of ${limit(inventory)}`);
    return {
      code: "overcommitted-inventory" as const,
      subject: providerSubject(facts, uuid),
      provider: null,
      explanation: `more is held than the provider offers: ${told.join(", ")}`,
      remedies: [],
      left: "move servers away, or raise the allocation ratio or lower what is reserved in the host's nova.conf",
    };
  });
}
