import type { Amounts, Held, Migration, Server } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";
import { differences, needOf } from "./need.js";

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
  return { server, root, own, elsewhere: elsewhere(index, server, home), ...(owedBy ? { owedBy } : {}) };
}

/** A tree with what is shared with it. */
function homeOf(index: SnapshotIndex, root: string): ReadonlySet<string> {
  return new Set([...index.treeOf(root), ...index.sharersOf(root)]);
}

/** Trees of compute nodes, known or gone, beside the server's home. Providers that are not Nova's are not looked at. */
export function elsewhere(index: SnapshotIndex, server: Server, home: ReadonlySet<string>): readonly Elsewhere[] {
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
