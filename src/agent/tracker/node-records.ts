import {
  type AssignedResource,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  isVolumeBacked,
  type Migration,
  UNFINISHED_MIGRATION_STATUSES,
} from "../../records/index.js";
import { ignore } from "../ignore-errors.js";
import type { Moved } from "./contract.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration, flavorOfMigration, flavorUsage, latestPerInstance, type NodeName } from "./usage.js";

interface NodeRecords {
  /** The instances of this host and node that are not deleted. */
  readonly instances: readonly Instance[];
  /** Migrations from or to this host and node, in progress or in error. */
  readonly migrations: readonly Migration[];
}

/** Reads instances and migrations of a node during one pass (spec 4.4 step 4). */
export type ReadRecords = (node: string) => Promise<NodeRecords>;

/** Queries each node; suits an agent of one node. */
export function singleReader({ conductor, host }: TrackerState): ReadRecords {
  return async (node) => {
    const [instances, migrations] = await Promise.all([
      conductor.call("instances_by_host_and_node", { host, node }),
      conductor.call("migrations_in_progress", { host, node, includeError: true }),
    ]);
    return { instances, migrations };
  };
}

/**
 * Queries once for all nodes of the host, and again only after a write that changed the location of an instance, e.g. a
 * claim.
 */
export function batchReader({ conductor, host, binding }: TrackerState): ReadRecords {
  let epoch = -1;
  let loading: Promise<void> | null = null;
  let byNode = new Map<string, { readonly instances: Instance[]; readonly migrations: Migration[] }>();
  const recordsOf = (node: string) => {
    const records = byNode.get(node) ?? { instances: [], migrations: [] };
    byNode.set(node, records);
    return records;
  };
  const load = async (): Promise<void> => {
    const [instances, migrations] = await Promise.all([
      conductor.call("instances_by_host", { host }),
      conductor.call("migrations_by_filters", { filters: { host, statuses: IN_PROGRESS_OR_ERROR } }),
    ]);
    byNode = new Map();
    for (const instance of instances) {
      recordsOf(instance.node ?? "").instances.push(instance);
    }
    for (const migration of migrations) {
      const { sourceCompute, sourceNode, destCompute, destNode } = migration;
      for (const node of new Set([sourceCompute === host && sourceNode, destCompute === host && destNode])) {
        if (node) {
          recordsOf(node).migrations.push(migration);
        }
      }
    }
    epoch = binding.epoch;
  };
  return async (node) => {
    if (epoch !== binding.epoch) {
      loading ??= load().finally(() => {
        loading = null;
      });
      await loading;
    }
    return recordsOf(node);
  };
}

const IN_PROGRESS_OR_ERROR = [...UNFINISHED_MIGRATION_STATUSES, "error"] as const;

/**
 * Recounts a node from its instances and migrations (spec 4.4 steps 5-8 and 10, 4.5): instances first, then the
 * additional usage of migrations. Sets missing compute ids of instances, and sets migrations to error that their
 * instance's context contradicts.
 */
export async function countRecords(
  tracker: TrackerState,
  node: TrackedNode,
  where: NodeName,
  records: NodeRecords,
): Promise<void> {
  node.account.clear();
  const instances = new Map<string, Instance>();
  for (const found of records.instances) {
    const instance = await withComputeId(tracker, found, node.row.id);
    if (instance) {
      instances.set(instance.uuid, instance);
      node.account.countInstance(instance);
    }
  }
  const latest = latestPerInstance(records.migrations);
  const ignoreErrored = tracker.options.ignoreErroredEvacuations;
  const all = await withMissing(tracker, instances, [...latest.keys()]);
  for (const [uuid, migration] of latest) {
    const instance = all.get(uuid);
    if (instance && countsMigration(instance, migration, ignoreErrored)) {
      await countOne(tracker, node, where, instance, migration);
    }
  }
}

/** Saves the compute id; null if the instance was evacuated or deleted since it was read. */
async function withComputeId(tracker: TrackerState, instance: Instance, computeId: number): Promise<Instance | null> {
  const { uuid, host, node } = instance;
  if (instance.computeId === computeId || !tracker.binding.persistsComputeIds) {
    return instance;
  }
  const saving = tracker.conductor.call("instance_save", {
    uuid,
    changes: { host, node, computeId },
    expectedHost: host,
  });
  const saved = await saving.catch(ignore(["ObjectActionError", "InstanceNotFound"]));
  if (!saved) {
    return null;
  }
  // Otherwise each pass would save each instance.
  tracker.binding.persistsComputeIds = saved.computeId === computeId;
  return saved;
}

/** Returns the instances, extended by those of migrations that are not on the node, even if deleted. */
async function withMissing(
  tracker: TrackerState,
  instances: ReadonlyMap<string, Instance>,
  requiredUuids: readonly string[],
): Promise<ReadonlyMap<string, Instance>> {
  const uuids = requiredUuids.filter((uuid) => !instances.has(uuid));
  if (uuids.length === 0) {
    return instances;
  }
  const others = await tracker.conductor.call("instances_by_filters", { filters: { uuids } });
  return new Map([...instances, ...others.map((instance) => [instance.uuid, instance] as const)]);
}

async function countOne(
  tracker: TrackerState,
  node: TrackedNode,
  where: NodeName,
  instance: Instance,
  migration: Migration,
): Promise<void> {
  const named = instance.migrationContext?.migrationId;
  if (named !== undefined && named !== migration.id) {
    await contradicted(tracker, migration);
    return;
  }
  countMove(tracker, node, instance, migration);
  node.account.assign(instance.uuid, contextResources(instance, migration, where));
}

/** Counts what the move adds to the node's instances. */
export function countMove({ host }: TrackerState, node: TrackedNode, instance: Instance, migration: Migration): void {
  const where = { host, node: node.row.hypervisorHostname };
  const flavor = flavorOfMigration(migration, instance, where, node.account.hasInstance(instance.uuid));
  node.account.countMigration(migration, flavor && flavorUsage(flavor, isVolumeBacked(instance)));
}

/** Counts an instance that has changed, and its move. */
export function count({ host, options }: TrackerState, instance: Instance, { account, row }: TrackedNode): void {
  if (instance.host === host && instance.node === row.hypervisorHostname) {
    account.countInstance(instance);
  } else {
    account.forgetInstance(instance.uuid);
  }
  const migration = account.migrationOf(instance.uuid);
  if (!migration || !countsMigration(instance, migration, options.ignoreErroredEvacuations)) {
    account.stopCountingMigration(instance.uuid);
  }
}

/** Returns this host's nodes on which the instance was, is, or is counted by its migration. */
export function touchedNodes(
  { host, nodes }: TrackerState,
  before: Instance,
  { instance, migration }: Moved,
): readonly TrackedNode[] {
  const names = new Set([
    before.host === host && before.node,
    instance.host === host && instance.node,
    migration.sourceCompute === host && migration.sourceNode,
    migration.destCompute === host && migration.destNode,
  ]);
  return [...names].flatMap((name) => nodes.get(name || "") ?? []);
}

/** @param leaves this host no longer counts the instance, although the row still names it */
export function recountMove(
  tracker: TrackerState,
  node: TrackedNode,
  { instance, migration }: Moved,
  leaves: boolean,
): void {
  const where = { host: tracker.host, node: node.row.hypervisorHostname };
  const { account } = node;
  account.forgetMigration(instance.uuid);
  if (!leaves && instance.host === where.host && instance.node === where.node) {
    account.countInstance(instance);
  } else {
    account.forgetInstance(instance.uuid);
  }
  const isCounted =
    !FINAL_MIGRATION_STATUSES.includes(migration.status) &&
    countsMigration(instance, migration, tracker.options.ignoreErroredEvacuations);
  if (isCounted) {
    countMove(tracker, node, instance, migration);
    account.assign(instance.uuid, contextResources(instance, migration, where));
  }
}

/**
 * Ends a migration that the instance's context contradicts. The instance was read after its migration, which may have
 * ended in between, followed by the next one. A live migration is ended by its source (2.6 row 16), where it still has
 * allocations: the instance has moved before the source released it.
 */
async function contradicted(tracker: TrackerState, migration: Migration): Promise<void> {
  const { id, instanceUuid, status, migrationType } = migration;
  if (status === "error" || migrationType === "live-migration") {
    return;
  }
  const fields = { instance: instanceUuid, migration: id };
  if (await failMigration(tracker, migration)) {
    tracker.logger.warn("the instance's context names another migration: this one is set to error", fields);
  } else {
    tracker.logger.debug("the instance's context names another migration: this one has ended by now", fields);
  }
}

/** Sets the migration to error. Returns false if it has another status by now. */
export async function failMigration({ conductor }: TrackerState, { id, status }: Migration): Promise<boolean> {
  const write = { id, changes: { status: "error" }, expectedStatus: [status] } as const;
  return (await conductor.call("migration_save", write).catch(ignore("InvalidMigrationState"))) !== undefined;
}

/** Returns the discrete resources of a move on this side; none until the claim has saved its context (bug 1849165). */
export function contextResources(
  instance: Instance,
  migration: Migration,
  where: NodeName,
): readonly AssignedResource[] {
  const context = instance.migrationContext;
  if (!context) {
    return [];
  }
  const incoming = migration.destCompute === where.host && migration.destNode === where.node;
  return incoming ? context.newResources : context.oldResources;
}
