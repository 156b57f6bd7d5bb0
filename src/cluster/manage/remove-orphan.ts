import { readConsumer, rewriteOf } from "../../placement/consumer-allocations.js";
import type { ManageParts } from "./manage-parts.js";
import type { Orphan } from "./orphans.js";
import { putAllocations } from "./put-allocations.js";

/**
 * Takes away what the orphan holds on that provider, and nothing else. The write carries the generation that the consumer was
 * judged with: one that has changed since is left as it is. Only what upstream does not look at is deleted without (7.4).
 * @returns false: it is still there
 */
export async function removeOrphan(parts: ManageParts, { consumer, provider, held }: Orphan): Promise<boolean> {
  const { placement, context } = parts;
  const current = held ?? (await readConsumer(placement, consumer, context));
  const others = Object.entries(current.allocations).filter(([uuid]) => uuid !== provider);
  if (held === undefined && others.length === 0) {
    const { ok, status } = await placement.delete(`/allocations/${consumer}`, context);
    return ok || status === 404;
  }
  return (await putAllocations(parts, consumer, rewriteOf(current, Object.fromEntries(others)))) === undefined;
}
