import type { Amounts, Held, Migration, Server } from "../read/records.js";
import type { Facts } from "./inputs.js";
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
export function whereabouts(facts: Facts): readonly Whereabouts[] {
  return [...facts.snapshot.servers.values()].flatMap((server) => {
    const node = facts.nodeOf(server);
    return node && facts.provider(node.uuid) && facts.isAtRest(server) ? [locate(facts, server, node.uuid)] : [];
  });
}

function locate(facts: Facts, server: Server, root: string): Whereabouts {
  const held = facts.heldBy(server.id);
  const home = homeOf(facts, root);
  const own = Object.fromEntries(Object.entries(held).filter(([uuid]) => home.has(uuid)));
  const owedBy = Object.keys(own).length === 0 ? creditor(facts, server, home) : undefined;
  return { server, root, own, elsewhere: elsewhere(facts, server, home), ...(owedBy ? { owedBy } : {}) };
}

/** A tree with what is shared with it. */
function homeOf(facts: Facts, root: string): ReadonlySet<string> {
  return new Set([...facts.treeOf(root), ...facts.sharersOf(root)]);
}

/** Trees of compute nodes, known or gone, beside the server's home. Providers that are not Nova's are not looked at. */
export function elsewhere(facts: Facts, server: Server, home: ReadonlySet<string>): readonly Elsewhere[] {
  const strange = Object.keys(facts.heldBy(server.id)).filter((uuid) => !home.has(uuid));
  const isNovas = (uuid: string) => ["compute", "nodeless"].includes(facts.kindOf(uuid));
  const roots = new Set(strange.filter(isNovas).map((uuid) => facts.rootOf(uuid)));
  return [...roots].map((root) => {
    const shared = facts.sharersOf(root);
    const providers = strange.filter((uuid) => facts.rootOf(uuid) === root || shared.includes(uuid));
    const explainedBy = facts.movesOf(server).find((move) => explains(facts, server, move, root));
    return { root, providers, ...(explainedBy ? { explainedBy } : {}) };
  });
}

/** The move left its source's half with the server itself: the Pike way until confirmed, an evacuation until cleaned up. */
function explains(facts: Facts, server: Server, move: Migration, root: string): boolean {
  const fromThere = facts.node(root) ? facts.sourceOf(move)?.uuid === root : move.sourceNode === facts.name(root);
  const evacuated = move.type === "evacuation" && move.status === "done";
  return fromThere && (evacuated || facts.unconfirmed(server) === move);
}

/** The ended migration that kept what its server needs at home: a revert or a roll-back that could not give it back. */
function creditor(facts: Facts, server: Server, home: ReadonlySet<string>): Migration | undefined {
  return facts.movesOf(server).find(({ uuid, status }) => {
    if (uuid === null || status === "finished") {
      return false;
    }
    const held = facts.heldBy(uuid);
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
