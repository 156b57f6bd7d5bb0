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
    const own = confirmed.filter(({ instanceUuid }) => instanceUuid === instance.uuid);
    const holds = ({ uuid }: Migration) => holders.has(instance.uuid) || holders.has(uuid);
    if (!hasFlavors(instance) && !own.some(holds)) {
      continue;
    }
    const all = await context.conductor.call("migrations_by_filters", { filters: { instanceUuid: instance.uuid } });
    for (const migration of own) {
      const left = leftOf(context, { instance, migration }, all);
      if (left === "flavors" || (left === "half" && holds(migration))) {
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
function leftOf(context: AgentContext, move: Move, all: readonly Migration[]): "flavors" | "half" | null {
  const later = all.filter(({ id }) => id > move.migration.id);
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

/** The end of a confirmation that died when it had written `confirmed`. */
export async function settleLeftover(progress: MoveProgress): Promise<void> {
  const { services, move, request } = progress;
  const { conductor } = services.context;
  const filters = { instanceUuid: move.instance.uuid };
  const left = leftOf(services.context, move, await conductor.call("migrations_by_filters", { filters }));
  if (left === "flavors") {
    await settleConfirmed(progress);
  } else if (left === "half") {
    await finishSource(services, move, { requestId: request.requestId, repeated: true });
  }
}

/** Lists the consumers that hold something on the nodes that the moves have left; none, where that cannot be read. */
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
