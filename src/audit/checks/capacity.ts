import type { Inventory } from "../read/records.js";
import type { Facts } from "./inputs.js";

/** What may be held in all, as Placement counts it (spec 5.4). */
export function capacity({ total, reserved, allocation_ratio }: Inventory): number {
  return Math.floor((total - reserved) * allocation_ratio);
}

export function usedOf(facts: Facts, uuid: string, resourceClass: string): number {
  return facts.holders(uuid).reduce((sum, { held }) => sum + (held[uuid]?.[resourceClass] ?? 0), 0);
}
