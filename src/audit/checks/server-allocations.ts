import { flavorResources } from "../../records/resource-request.js";
import type { Amounts, Held, Migration, Server } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";

/** The resources that a server needs (spec 1.6), and the classes that its CPUs may have. */
interface Need {
  readonly amounts: Amounts;
  /** CPUs may be VCPU or PCPU in any mixture (`hw:cpu_policy`); only their sum is known. */
  readonly mixedCpus: boolean;
  /**
   * `hw:emulator_threads_policy = isolate` needs one more CPU if the image, which is not read, requires dedicated CPUs.
   */
  readonly extraCpus: 0 | 1;
}

export interface Difference {
  /** `CPUs` if VCPU and PCPU are counted as one sum. */
  readonly resourceClass: string;
  readonly held: number;
  readonly needed: number;
}

/** Classes that only a flavor requests. Others may come from ports and devices and are not compared with the flavor. */
const FLAVORS_OWN = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];

const CPUS = new Set(["VCPU", "PCPU"]);

const cpusOf = (amounts: Amounts): number => (amounts.VCPU ?? 0) + (amounts.PCPU ?? 0);

/** A tree other than the server's own in which the server has allocations. */
export interface Elsewhere {
  readonly root: string;
  /** The providers with allocations: in the tree, or sharing with that tree only. */
  readonly providers: readonly string[];
  /** The move that explains the allocations, or is known to have left them; undefined if none does. */
  readonly explainedBy?: Migration;
}

/** The locations of a placed server's allocations. The server is at rest. */
export interface Whereabouts {
  readonly server: Server;
  /** The provider of its compute node, which exists. */
  readonly root: string;
  /** Allocations in its own tree and on providers that share with it. */
  readonly own: Held;
  readonly elsewhere: readonly Elsewhere[];
  /** An ended migration that has the allocations which the server lacks on its own node, and would return them. */
  readonly owedBy?: Migration;
}

/**
 * Returns the locations of allocations for every server that can be checked: at rest, on a known compute node with a
 * provider.
 */
export function whereabouts(index: SnapshotIndex): readonly Whereabouts[] {
  return [...index.snapshot.servers.values()].flatMap((server) => {
    const node = index.nodeOf(server);
    return node && index.provider(node.uuid) && index.isAtRest(server) ? [locate(index, server, node.uuid)] : [];
  });
}

function locate(index: SnapshotIndex, server: Server, root: string): Whereabouts {
  const held = index.heldBy(server.id);
  const home = homeOf(index, root);
  const own = Object.fromEntries(Object.entries(held).filter(([uuid]) => home.has(uuid)));
  const owedBy = Object.keys(own).length === 0 ? creditor(index, server, home) : undefined;
  return { server, root, own, elsewhere: allocationsElsewhere(index, server, home), ...(owedBy ? { owedBy } : {}) };
}

/** Returns a tree and the providers that share with it. */
function homeOf(index: SnapshotIndex, root: string): ReadonlySet<string> {
  return new Set([...index.treeOf(root), ...index.sharersOf(root)]);
}

/**
 * Returns the server's allocations outside `home`, by trees of existing or removed compute nodes. Skips providers that
 * are not Nova's.
 */
export function allocationsElsewhere(
  index: SnapshotIndex,
  server: Server,
  home: ReadonlySet<string>,
): readonly Elsewhere[] {
  const strange = Object.keys(index.heldBy(server.id)).filter((uuid) => !home.has(uuid));
  const isNovas = (uuid: string) => ["compute", "nodeless"].includes(index.kindOf(uuid));
  const roots = new Set(strange.filter(isNovas).map((uuid) => index.rootOf(uuid)));
  return [...roots].map((root) => {
    const shared = index.sharersOf(root);
    const providers = strange.filter((uuid) => index.rootOf(uuid) === root || shared.includes(uuid));
    const explainedBy = index.movesOf(server).find((move) => explains(index, server, move, root));
    return { root, providers, ...(explainedBy ? { explainedBy } : {}) };
  });
}

/**
 * Returns whether the server still owns the move's source allocations: as in Pike until the move is confirmed, or after
 * an evacuation until the source has cleaned up.
 */
function explains(index: SnapshotIndex, server: Server, move: Migration, root: string): boolean {
  const fromThere = index.node(root) ? index.sourceOf(move)?.uuid === root : move.sourceNode === index.name(root);
  const evacuated = move.type === "evacuation" && move.status === "done";
  return fromThere && (evacuated || index.unconfirmed(server) === move);
}

/**
 * Returns the ended migration that has the allocations which the server needs on its own node: a failed revert or
 * roll-back did not return them.
 */
function creditor(index: SnapshotIndex, server: Server, home: ReadonlySet<string>): Migration | undefined {
  return index.movesOf(server).find(({ uuid, status }) => {
    if (uuid === null || status === "finished") {
      return false;
    }
    const held = index.heldBy(uuid);
    const uuids = Object.keys(held);
    return (
      uuids.length > 0 && uuids.every((each) => home.has(each)) && differences(total(held), needOf(server)).length === 0
    );
  });
}

/** Returns the sums by resource class. */
export function total(held: Held): Amounts {
  const sums: Record<string, number> = {};
  for (const amounts of Object.values(held)) {
    for (const [name, amount] of Object.entries(amounts)) {
      sums[name] = (sums[name] ?? 0) + amount;
    }
  }
  return sums;
}

export function needOf({ flavor, volumeBacked }: Pick<Server, "flavor" | "volumeBacked">): Need {
  const { extraSpecs } = flavor;
  const amounts = flavorResources(flavor, { volumeBacked });
  const isolated = extraSpecs["hw:emulator_threads_policy"] === "isolate";
  return {
    amounts,
    mixedCpus: extraSpecs["hw:cpu_policy"] === "mixed",
    extraCpus: isolated && amounts.PCPU === undefined ? 1 : 0,
  };
}

/** Compares the sums of allocations with the need. */
export function differences(held: Amounts, need: Need): Difference[] {
  const names = new Set([...Object.keys(need.amounts), ...FLAVORS_OWN]);
  // An image may require dedicated CPUs. The PCPUs are then not in the flavor.
  const combined = need.mixedCpus || need.extraCpus > 0 || (held.PCPU ?? 0) > 0 !== (need.amounts.PCPU ?? 0) > 0;
  const found: Difference[] = [];
  for (const resourceClass of names) {
    if (combined && CPUS.has(resourceClass)) {
      continue;
    }
    const [is, needed] = [held[resourceClass] ?? 0, need.amounts[resourceClass] ?? 0];
    if (is !== needed) {
      found.push({ resourceClass, held: is, needed });
    }
  }
  const cpus = { held: cpusOf(held), needed: cpusOf(need.amounts) };
  if (combined && (cpus.held < cpus.needed || cpus.held > cpus.needed + need.extraCpus)) {
    found.push({ resourceClass: "CPUs", ...cpus });
  }
  return found;
}

/**
 * Selects the provider for each of the server's resources, including those of its ports, from a tree and the providers that
 * share with it. Returns
 * undefined if only the scheduler knows, because several providers or none offer a class.
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
  for (const [uuid, amounts] of Object.entries(needOfPorts(index, server, root))) {
    placed[uuid] = { ...placed[uuid], ...amounts };
  }
  return placed;
}

/** Returns the resources that a server's ports have on providers of a tree. */
export function needOfPorts(index: SnapshotIndex, server: Server, root: string): Held {
  const needed: Record<string, Amounts> = {};
  for (const [uuid, amounts] of index.portsOf(server).flatMap(({ allocated }) => Object.entries(allocated))) {
    if (index.rootOf(uuid) === root) {
      needed[uuid] = total({ before: needed[uuid] ?? {}, amounts });
    }
  }
  return needed;
}

/** Returns the single provider that offers the class: the root, else one in its tree, else one that shares with it. */
export function offering(index: SnapshotIndex, root: string, resourceClass: string): string | undefined {
  const offers = (uuid: string): boolean => resourceClass in (index.provider(uuid)?.inventories ?? {});
  if (offers(root)) {
    return root;
  }
  const below = index.treeOf(root).filter(offers);
  const candidates = below.length > 0 ? below : index.sharersOf(root).filter(offers);
  return candidates.length === 1 ? candidates[0] : undefined;
}

/** Formats as `VCPU 1, MEMORY_MB 512`. */
export function describeAmounts(amounts: Amounts): string {
  return (
    Object.entries(amounts)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(", ") || "nothing"
  );
}
