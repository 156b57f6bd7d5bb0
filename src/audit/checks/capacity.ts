import type { Inventory } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";

/** What may be held in all, as Placement counts it (spec 5.4). */
export function capacity({ total, reserved, allocation_ratio }: Inventory): number {
  return Math.floor((total - reserved) * allocation_ratio);
}

export function usedOf(index: SnapshotIndex, uuid: string, resourceClass: string): number {
  return index.holders(uuid).reduce((sum, { held }) => sum + (held[uuid]?.[resourceClass] ?? 0), 0);
}
