import { isProviderMissing } from "../../placement-client/errors.js";
import type { PlacementPass } from "../../placement-client/provider-requests.js";
import type { ProviderAllocations, RequestContext } from "../../placement-client/types.js";
import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";
import { failMigration } from "./node-records.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import type { NodeName } from "./usage.js";

/** The inputs about one consumer with allocations on a node's root provider. @internal */
export interface ConsumerInputs {
  readonly uuid: string;
  readonly where: NodeName;
  /** Counted on the node in this pass. */
  readonly tracked: boolean;
  /** The consumer is a migration of the node that is in progress or in error. */
  readonly migration: boolean;
  /** The instance, even if deleted; null: no such instance. */
  readonly instance: Instance | null;
  /** The move that is the consumer, if its instance was deleted some time ago. */
  readonly leftMove: Migration | null;
}

interface CleanupResult {
  /** Row of the table in spec 4.6. */
  readonly row: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
  readonly action: "keep" | "delete" | "report-moved" | "end-move";
  readonly log?: { readonly level: "debug" | "info" | "warn"; readonly message: string };
}

interface CleanupRow {
  readonly row: CleanupResult["row"];
  readonly when: (inputs: ConsumerInputs) => boolean;
  readonly action: CleanupResult["action"];
  readonly log?: (inputs: ConsumerInputs) => CleanupResult["log"];
}

/** Spec 4.6: the first matching row applies. */
const ROWS: readonly CleanupRow[] = [
  { row: 1, when: ({ tracked }) => tracked, action: "keep" },
  { row: 2, when: ({ migration }) => migration, action: "keep" },
  {
    row: 3,
    when: ({ leftMove }) => leftMove !== null,
    action: "end-move",
    log: ({ leftMove }) => ({
      level: "info",
      message: `${leftMove?.migrationType} ${leftMove?.id} was left ${leftMove?.status}, and its instance is deleted: its allocations are removed`,
    }),
  },
  {
    row: 3,
    when: ({ instance }) => instance === null,
    action: "keep",
    log: () => ({
      level: "info",
      message: "consumer is no known instance: it is being scheduled, archived, or a leaked migration; kept",
    }),
  },
  {
    row: 4,
    when: ({ instance }) => instance !== null && instance.deleted !== 0 && !instance.hidden,
    action: "delete",
    log: () => ({ level: "info", message: "instance is deleted: its allocations are removed" }),
  },
  { row: 5, when: ({ instance }) => instance?.host === null, action: "keep" },
  {
    row: 6,
    when: ({ instance, where }) => instance?.host === where.host && instance.node === where.node,
    action: "keep",
    log: ({ instance }) => ({
      level: instance?.taskState ? "debug" : "warn",
      message: "instance is on this node and not counted by the tracker; its allocations are kept",
    }),
  },
  {
    row: 7,
    when: ({ instance, where }) => instance?.host !== where.host,
    action: "report-moved",
    log: ({ instance }) => ({
      level: "warn",
      message: `instance is on host ${instance?.host} and still has allocations here; they are kept`,
    }),
  },
  { row: 8, when: () => true, action: "keep" },
];

/** Returns the action on the consumer's allocations (spec 4.6). @internal */
export function checkConsumer(inputs: ConsumerInputs): CleanupResult {
  for (const { row, when, action, log } of ROWS) {
    if (!when(inputs)) {
      continue;
    }
    const entry = log?.(inputs);
    return entry ? { row, action, log: entry } : { row, action };
  }
  throw new TypeError("the last row of the table matches everything");
}

/** Milliseconds before an idle move counts as abandoned: the calls between its hosts have shorter timeouts. */
const LEFT_MOVE_TIMEOUT_MS = 60_000;

/** Returns the consumers that are moves of instances deleted some time ago. */
async function findLeftMoves(
  { conductor, runtime, options }: TrackerState,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, Migration>> {
  if (uuids.length === 0 || options.keepLeftMoves) {
    return new Map();
  }
  const moves = await conductor.call("migrations_by_filters", { filters: { uuids: [...uuids], readDeleted: true } });
  const before = runtime.clock.now() - LEFT_MOVE_TIMEOUT_MS;
  const idle = moves.filter(({ updatedAt, createdAt }) => (updatedAt ?? createdAt) < before);
  if (idle.length === 0) {
    return new Map();
  }
  const instances = await conductor.call("instances_by_filters", {
    filters: { uuids: idle.map(({ instanceUuid }) => instanceUuid) },
  });
  const gone = new Set(
    instances
      .filter(({ deleted, deletedAt, hidden }) => deleted !== 0 && !hidden && (deletedAt ?? 0) < before)
      .map(({ uuid }) => uuid),
  );
  return new Map(idle.filter(({ instanceUuid }) => gone.has(instanceUuid)).map((move) => [move.uuid, move]));
}

/** Ends the migration's status before its allocations are removed (V13). Returns false if a process still works on it. */
async function endLeftMove(tracker: TrackerState, move: Migration): Promise<boolean> {
  if (FINAL_MIGRATION_STATUSES.includes(move.status) || (await failMigration(tracker, move))) {
    return true;
  }
  const fields = { instance: move.instanceUuid, migration: move.id };
  tracker.logger.debug("the move of a deleted instance has continued: checking again in the next pass", fields);
  return false;
}

interface CleanerOptions extends RequestContext {
  readonly pass: PlacementPass | undefined;
}

/**
 * Spec 4.6: checks every consumer on the node's root provider, and removes the allocations of deleted instances, and of
 * their interrupted moves.
 * @param migrationUuids the node's migrations that are in progress or in error
 * @throws AllocationDeleteFailed ends this node's pass; the next pass tries again
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
  const { placement, logger } = tracker;
  try {
    return await placement.getAllocationsForProvider(node.row.uuid, { ...request, ...(pass ? { pass } : {}) });
  } catch (err) {
    if (isProviderMissing(err)) {
      // Upstream continues with its cached provider until the cache expires (bug 1853009).
      if (!tracker.options.unguardedNodeDelete) {
        placement.invalidateResourceProvider(node.row.uuid);
      }
      logger.info("the node has no provider in Placement: this pass creates one", {
        node: node.row.hypervisorHostname,
        provider: node.row.uuid,
      });
      return null;
    }
    logger.error("allocations of the node could not be read: none is cleaned up in this pass", {
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
  const found = await tracker.conductor.call("instances_by_filters", { filters: { uuids } });
  return new Map(found.map((instance) => [instance.uuid, instance]));
}

async function carryOut(
  tracker: TrackerState,
  node: TrackedNode,
  inputs: ConsumerInputs,
  { row, action, log }: CleanupResult,
  { pass: _, ...request }: CleanerOptions,
): Promise<void> {
  const { placement, logger } = tracker;
  const instance = inputs.leftMove?.instanceUuid ?? inputs.uuid;
  const fields = { node: inputs.where.node, instance, row };
  if (action === "end-move" && !(inputs.leftMove && (await endLeftMove(tracker, inputs.leftMove)))) {
    return;
  }
  if (action === "delete" || action === "end-move") {
    await placement.deleteAllocation(inputs.uuid, { force: false, ...request });
  }
  if (action === "report-moved" && (await isHealable(tracker, inputs.instance))) {
    logger.warn("instance is at rest on another host: its allocations here are removed", fields);
    await placement.removeProviderTreeFromInstanceAllocation(inputs.uuid, node.row.uuid, { retry: true, ...request });
    return;
  }
  if (log) {
    logger[log.level](log.message, fields);
  }
}

/** The OPT of row 7, `heal_moved_allocations`: only for an instance without a running move. */
async function isHealable(tracker: TrackerState, instance: Instance | null): Promise<boolean> {
  if (!tracker.options.healMovedAllocations || !instance || instance.taskState !== null) {
    return false;
  }
  const migrations = await tracker.conductor.call("migrations_by_filters", {
    filters: { instanceUuid: instance.uuid },
  });
  // `finished` counts as running: the source allocations belong to an instance that waits for its confirmation.
  return migrations.every(({ status }) => ENDED.has(status));
}

const ENDED: ReadonlySet<string> = new Set(["confirmed", "reverted", "failed", "completed", "cancelled", "done"]);
