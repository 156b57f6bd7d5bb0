import { flavorResources } from "../../records/resource-request.js";
import type { Amounts, Held, Migration, Server } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";

/** What a server needs (spec 1.6), and which classes its CPUs may have. */
interface Need {
  readonly amounts: Amounts;
  /** CPUs may be VCPU or PCPU in any mixture (`hw:cpu_policy`): only their sum is known. */
  readonly mixedCpus: boolean;
  /** `hw:emulator_threads_policy = isolate` takes one more when the image, which is not read, asks for dedicated CPUs. */
  readonly extraCpus: 0 | 1;
}

export interface Difference {
  /** `CPUs` where VCPU and PCPU count together. */
  readonly resourceClass: string;
  readonly held: number;
  readonly needed: number;
}

/** Classes that only a flavor asks for; others may come from ports and devices, and say nothing about the flavor. */
const FLAVORS_OWN = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];

const CPUS = new Set(["VCPU", "PCPU"]);

const cpusOf = (amounts: Amounts): number => (amounts.VCPU ?? 0) + (amounts.PCPU ?? 0);

/** A tree that is not the server's own, on which it holds something. */
export interface Elsewhere {
  readonly root: string;
  /** What is held there: of the tree, and of what is shared with that tree only. */
  readonly providers: readonly string[];
  /** Why that is right, or known to be left over; undefined: nothing explains it. */
  readonly explainedBy?: Migration;
}

/** Where a placed server at rest holds what. */
export interface Whereabouts {
  readonly server: Server;
  /** Its compute node's provider, which is there. */
  readonly root: string;
  /** What it holds of its own tree and of what is shared with that. */
  readonly own: Held;
  readonly elsewhere: readonly Elsewhere[];
  /** A migration that has ended holds what the server lacks here, and will give it back. */
  readonly owedBy?: Migration;
}

/** The place of every server that can be judged: at rest, on a compute node that is known and has a provider. */
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

/** A tree with what is shared with it. */
function homeOf(index: SnapshotIndex, root: string): ReadonlySet<string> {
  return new Set([...index.treeOf(root), ...index.sharersOf(root)]);
}

/** Trees of compute nodes, known or gone, beside the server's home. Providers that are not Nova's are not looked at. */
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

/** The move left its source's half with the server itself: the Pike way until confirmed, an evacuation until cleaned up. */
function explains(index: SnapshotIndex, server: Server, move: Migration, root: string): boolean {
  const fromThere = index.node(root) ? index.sourceOf(move)?.uuid === root : move.sourceNode === index.name(root);
  const evacuated = move.type === "evacuation" && move.status === "done";
  return fromThere && (evacuated || index.unconfirmed(server) === move);
}

/** The ended migration that kept what its server needs at home: a revert or a roll-back that could not give it back. */
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

/** Sums by resource class. */
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

/** In what way the sums that are held differ from the need. */
export function differences(held: Amounts, need: Need): Difference[] {
  const names = new Set([...Object.keys(need.amounts), ...FLAVORS_OWN]);
  // An image may ask for dedicated CPUs, too: then there are PCPUs that the flavor does not speak of.
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
