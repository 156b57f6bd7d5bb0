import {
  type ComputeNode,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type Migration,
  type MigrationType,
} from "../../../records/index.js";
import { type AgentContext, requestId as newRequestId } from "../../context.js";
import type { OperationServices } from "../contract.js";
import { finishSource, type Move } from "../moves/move-allocations.js";
import { settleConfirmed } from "./confirm-resize.js";
import type { MoveProgress } from "./move-request.js";

/** What a source has left of moves when it died after `confirmed` was written (spec 2.6 OPT). */

export const COLD: readonly MigrationType[] = ["migration", "resize"];

/** Keeps the confirmed moves from this host that are not settled. */
export async function findUnsettled(
  { context }: OperationServices,
  confirmed: readonly Migration[],
): Promise<readonly Migration[]> {
  if (confirmed.length === 0) {
    return [];
  }
  const uuids = [...new Set(confirmed.map(({ instanceUuid }) => instanceUuid))];
  const instances = await context.conductor.call("instances_by_filters", { filters: { uuids, deleted: false } });
  const holders = await holdersHere(context, confirmed);
  const found: Migration[] = [];
  for (const instance of instances) {
    for (const migration of confirmed.filter(({ instanceUuid }) => instanceUuid === instance.uuid)) {
      const holds = holders.has(instance.uuid) || holders.has(migration.uuid);
      const left = hasFlavors(instance) || holds ? await leftOf(context, { instance, migration }) : null;
      if (left === "flavors" || (left === "half" && holds)) {
        found.push(migration);
      }
    }
  }
  return found;
}

/**
 * What a confirmed move may have left: `flavors`, and what it held, as they go last of all (bug 1818914); or `half`, what it held
 * alone, as the flavors are a later move's.
 */
async function leftOf(context: AgentContext, move: Move): Promise<"flavors" | "half" | null> {
  const later = await laterMoves(context, move);
  if (later.some(({ migrationType }) => COLD.includes(migrationType))) {
    return isOvertaken(context, move, later) ? "half" : null;
  }
  return hasFlavors(move.instance) ? "flavors" : null;
}

function hasFlavors({ oldFlavor, newFlavor }: Instance): boolean {
  return oldFlavor !== null || newFlavor !== null;
}

/**
 * The instance has moved on from where this move brought it, and no other move, and no unshelve, can have given it anything here:
 * what it, or the migration, holds here is what the confirmation has left.
 */
function isOvertaken({ host }: AgentContext, { instance, migration }: Move, later: readonly Migration[]): boolean {
  return (
    migration.destCompute !== host &&
    instance.host !== null &&
    instance.host !== host &&
    later.every(
      ({ sourceCompute, destCompute, status }) =>
        sourceCompute !== host &&
        destCompute !== host &&
        (destCompute !== null || FINAL_MIGRATION_STATUSES.includes(status)),
    )
  );
}

async function laterMoves({ conductor }: AgentContext, { migration }: Move): Promise<readonly Migration[]> {
  const { id, instanceUuid } = migration;
  const migrations = await conductor.call("migrations_by_filters", { filters: { instanceUuid } });
  return migrations.filter((other) => other.id > id);
}

/** The end of a confirmation that died when it had written `confirmed`. */
export async function settleLeftover(progress: MoveProgress): Promise<void> {
  const { services, move, request } = progress;
  const left = await leftOf(services.context, move);
  if (left === "flavors") {
    await settleConfirmed(progress);
  } else if (left === "half") {
    await finishSource(services, move, { requestId: request.requestId, repeated: true });
  }
}

/** Who holds something on the nodes that the moves have left; nobody, where that cannot be read. */
async function holdersHere(context: AgentContext, moves: readonly Migration[]): Promise<ReadonlySet<string>> {
  const holders = new Set<string>();
  const requestId = newRequestId(context);
  for (const name of new Set(moves.map(({ sourceNode }) => sourceNode))) {
    try {
      const node = await nodeHere(context, name);
      const held = node && (await context.placement.getAllocationsForProvider(node.uuid, { requestId }));
      for (const consumer of held?.consumers.keys() ?? []) {
        holders.add(consumer);
      }
    } catch (err) {
      context.runtime.logger.warn("what confirmed moves may have left on a node is unknown", { node: name, err });
    }
  }
  return holders;
}

async function nodeHere({ conductor, host }: AgentContext, node: string | null): Promise<ComputeNode | null> {
  return node === null ? null : conductor.call("compute_node_get_by_host_and_node", { host, node });
}
