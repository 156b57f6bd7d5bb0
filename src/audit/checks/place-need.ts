import type { Amounts, Held, Server } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";
import { needOf } from "./need.js";

/**
 * Which provider of a tree, or of what is shared with it, the server's resources are to be taken from. Undefined: only
 * the scheduler knows, since several providers offer a class, or none does.
 */
export function placeNeed(index: SnapshotIndex, server: Server, root: string): Held | undefined {
  const { amounts, mixedCpus } = needOf(server);
  if (mixedCpus) {
    return undefined;
  }
  const placed: Record<string, Record<string, number>> = {};
  for (const [resourceClass, amount] of Object.entries(amounts)) {
    const uuid = offering(index, root, resourceClass);
    if (uuid === undefined) {
      return undefined;
    }
    placed[uuid] = { ...placed[uuid], [resourceClass]: amount };
  }
  return placed;
}

/** The one provider that offers the class: the root, else of its tree, else of what is shared with it. */
export function offering(index: SnapshotIndex, root: string, resourceClass: string): string | undefined {
  const offers = (uuid: string): boolean => resourceClass in (index.provider(uuid)?.inventories ?? {});
  if (offers(root)) {
    return root;
  }
  const below = [...index.treeOf(root)].filter(offers);
  const candidates = below.length > 0 ? below : index.sharersOf(root).filter(offers);
  return candidates.length === 1 ? candidates[0] : undefined;
}

/** `VCPU 1, MEMORY_MB 512` */
export function describeAmounts(amounts: Amounts): string {
  return (
    Object.entries(amounts)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(", ") || "nothing"
  );
}
