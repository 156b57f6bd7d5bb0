import { isAsRead, readConsumer } from "../../placement-client/consumer-allocations.js";
import type { ManageParts } from "./manage-parts.js";
import type { Orphan } from "./orphans.js";
import { putAllocations } from "./put-allocations.js";

/**
 * Takes away what the orphan holds on that provider, and nothing else. A consumer that is not as it was judged is left as it is, also
 * one that was made anew since, at the same generation. Only what upstream does not look at is deleted without (7.4).
 * @returns false: it is still there
 */
export async function removeOrphan(parts: ManageParts, { consumer, provider, held }: Orphan): Promise<boolean> {
  const { placement, context } = parts;
  const current = await readConsumer(placement, consumer, context);
  if (held !== undefined && !isAsRead(held, current)) {
    return false;
  }
  const others = Object.entries(current.allocations).filter(([uuid]) => uuid !== provider);
  if (held === undefined && others.length === 0) {
    const { ok, status } = await placement.delete(`/allocations/${consumer}`, context);
    return ok || status === 404;
  }
  const { projectId, userId } = current;
  const owner = { projectId: projectId ?? "", userId: userId ?? "" };
  const write = { read: current, allocations: Object.fromEntries(others), ...owner };
  return (await putAllocations(parts, consumer, write)) === undefined;
}
