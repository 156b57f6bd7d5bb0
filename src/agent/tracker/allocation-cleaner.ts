import { isProviderMissing } from "../../placement-client/errors.js";
import type { PlacementPass } from "../../placement-client/pass.js";
import type { ProviderAllocations, RequestContext } from "../../placement-client/types.js";
import type { Instance } from "../../records/index.js";
import { type CleanupResult, type ConsumerInputs, checkConsumer } from "./allocation-cleanup.js";
import { endLeftMove, findLeftMoves } from "./left-moves.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import type { NodeName } from "./usage.js";

export interface CleanerOptions extends RequestContext {
  readonly pass: PlacementPass | undefined;
}

/**
 * Spec 4.6: judges every consumer on the node's root provider, and removes the allocations of deleted instances,
 * and of the moves that were under way when they went.
 * @param migrationUuids of the node's migrations that are in progress or in error.
 * @throws AllocationDeleteFailed ends this node's pass; it is tried again in the next.
 */
export async function removeDeletedInstancesAllocations(
  tracker: TrackerState,
  node: TrackedNode,
  where: NodeName,
  migrationUuids: ReadonlySet<string>,
  options: CleanerOptions,
): Promise<void> {
  const allocations = await consumersOf(tracker, node, options);
  if (!allocations) {
    return;
  }
  const known = (uuid: string) => node.account.hasInstance(uuid) || migrationUuids.has(uuid);
  const instances = await lookUp(
    tracker,
    [...allocations.consumers.keys()].filter((uuid) => !known(uuid)),
  );
  const unknownUuids = [...allocations.consumers.keys()].filter((uuid) => !known(uuid) && !instances.has(uuid));
  const leftMoves = await findLeftMoves(tracker, unknownUuids);
  for (const uuid of allocations.consumers.keys()) {
    const inputs: ConsumerInputs = {
      uuid,
      where,
      tracked: node.account.hasInstance(uuid),
      migration: migrationUuids.has(uuid),
      instance: instances.get(uuid) ?? null,
      leftMove: leftMoves.get(uuid) ?? null,
    };
    await carryOut(tracker, node, inputs, checkConsumer(inputs), options);
  }
}

async function consumersOf(
  tracker: TrackerState,
  node: TrackedNode,
  { pass, ...request }: CleanerOptions,
): Promise<ProviderAllocations | null> {
  const { placement, runtime } = tracker.context;
  try {
    return await placement.getAllocationsForProvider(node.row.uuid, { ...request, ...(pass ? { pass } : {}) });
  } catch (err) {
    if (isProviderMissing(err)) {
      // Upstream goes on with its own idea of the provider, until that is old (bug 1853009).
      if (!tracker.options.unguardedNodeDelete) {
        placement.invalidateResourceProvider(node.row.uuid);
      }
      runtime.logger.info("the node has no provider in Placement: this pass makes one", {
        node: node.row.hypervisorHostname,
        provider: node.row.uuid,
      });
      return null;
    }
    runtime.logger.error("allocations of the node could not be read: none is cleaned up in this pass", {
      node: node.row.hypervisorHostname,
      err,
    });
    return null;
  }
}

async function lookUp(tracker: TrackerState, uuids: readonly string[]): Promise<ReadonlyMap<string, Instance>> {
  if (uuids.length === 0) {
    return new Map();
  }
  const found = await tracker.context.conductor.call("instances_by_filters", { filters: { uuids } });
  return new Map(found.map((instance) => [instance.uuid, instance]));
}

async function carryOut(
  tracker: TrackerState,
  node: TrackedNode,
  inputs: ConsumerInputs,
  { row, action, log }: CleanupResult,
  { pass: _, ...request }: CleanerOptions,
): Promise<void> {
  const { placement, runtime } = tracker.context;
  const instance = inputs.leftMove?.instanceUuid ?? inputs.uuid;
  const fields = { node: inputs.where.node, instance, row };
  if (action === "end-move" && !(inputs.leftMove && (await endLeftMove(tracker, inputs.leftMove)))) {
    return;
  }
  if (action === "delete" || action === "end-move") {
    await placement.deleteAllocation(inputs.uuid, { force: false, ...request });
  }
  if (action === "report-moved" && (await isHealable(tracker, inputs.instance))) {
    runtime.logger.warn("instance is at rest on another host: its allocations here are removed", fields);
    await placement.removeProviderTreeFromInstanceAllocation(inputs.uuid, node.row.uuid, { retry: true, ...request });
    return;
  }
  if (log) {
    runtime.logger[log.level](log.message, fields);
  }
}

/** The OPT of row 7, `heal_moved_allocations`: only for an instance that nothing moves now. */
async function isHealable(tracker: TrackerState, instance: Instance | null): Promise<boolean> {
  if (!tracker.options.healMovedAllocations || !instance || instance.taskState !== null) {
    return false;
  }
  const migrations = await tracker.context.conductor.call("migrations_by_filters", {
    filters: { instanceUuid: instance.uuid },
  });
  // `finished` counts too: the source's half belongs to an instance that waits for its confirmation.
  return migrations.every(({ status }) => ENDED.has(status));
}

const ENDED: ReadonlySet<string> = new Set(["confirmed", "reverted", "failed", "completed", "cancelled", "done"]);
