import type { ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import {
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type InstanceChanges,
  isVolumeBacked,
  type Migration,
  type TaskState,
} from "../../records/index.js";
import { updateQuietly } from "./claims.js";
import type { Moved, MoveWrite } from "./contract.js";
import { contextResources } from "./node-records.js";
import { readDisabled, updateNode } from "./node-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration, flavorOfMigration, flavorUsage } from "./usage.js";

type SavedInstance = NonNullable<ParamsOf<ConductorMethods, "save_together">["instance"]>;

export async function finishEvacuation(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  migration: Migration,
  changes: InstanceChanges,
  { taskState, ofRequest }: { readonly taskState: readonly TaskState[]; readonly ofRequest: string },
): Promise<Instance> {
  const expected = { expectedTaskState: [...taskState], ofRequest };
  return takeOver(tracker, instance, nodeName, changes, expected, {
    migration: { id: migration.id, changes: { status: "done" } },
  });
}

export async function finishLiveMigration(
  tracker: TrackerState,
  instance: Instance,
  node: string,
  changes: InstanceChanges,
  { source, taskState }: { readonly source: string | null; readonly taskState?: readonly (TaskState | null)[] },
): Promise<Instance> {
  const expected = { expectedHost: source, ...(taskState ? { expectedTaskState: [...taskState] } : {}) };
  return takeOver(tracker, instance, node, changes, expected, {});
}

/** Assigns the instance to this node; no move to this host remains. */
async function takeOver(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  changes: InstanceChanges,
  expected: Pick<SavedInstance, "expectedHost" | "expectedTaskState" | "ofRequest">,
  migration: Pick<ParamsOf<ConductorMethods, "save_together">, "migration">,
): Promise<Instance> {
  const { lock, nodes, binding } = tracker;
  return lock.run(async () => {
    const node = nodes.get(nodeName);
    binding.epoch += 1;
    const saved = await tracker.conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: {
          ...changes,
          host: tracker.host,
          node: nodeName,
          computeId: node?.row.id ?? null,
          migrationContext: null,
        },
        ...expected,
      },
      ...migration,
    });
    const finished = saved.instance ?? instance;
    if (node) {
      node.account.forgetMigration(finished.uuid);
      node.account.countInstance(finished);
      await updateQuietly(tracker, node);
    }
    return finished;
  });
}

export async function updateUsage(tracker: TrackerState, instance: Instance, node: string): Promise<void> {
  const { lock, binding, nodes } = tracker;
  await lock.run(async () => {
    const tracked = nodes.get(node);
    if (!tracked) {
      return;
    }
    binding.epoch += 1;
    count(tracker, instance, tracked);
    await readDisabled(tracker);
    await updateNode(tracker, tracked, { startup: false });
  });
}

export async function saveInstance(
  tracker: TrackerState,
  instance: Instance,
  changes: InstanceChanges,
  expectedTaskState?: readonly (TaskState | null)[],
): Promise<Instance> {
  const { lock, binding, nodes } = tracker;
  return lock.run(async () => {
    binding.epoch += 1;
    const saved = await tracker.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes,
      ...(expectedTaskState ? { expectedTaskState: [...expectedTaskState], expectedHost: instance.host } : {}),
    });
    const node = instance.host === tracker.host ? nodes.get(instance.node ?? "") : undefined;
    if (node) {
      count(tracker, saved, node);
      await updateQuietly(tracker, node);
    }
    return saved;
  });
}

function count(tracker: TrackerState, instance: Instance, node: TrackedNode): void {
  const here = instance.host === tracker.host && instance.node === node.row.hypervisorHostname;
  if (here) {
    node.account.countInstance(instance);
  } else {
    node.account.forgetInstance(instance.uuid);
  }
  const migration = node.account.migrationOf(instance.uuid);
  const moves = migration && countsMigration(instance, migration, tracker.options.ignoreErroredEvacuations);
  if (!moves) {
    node.account.stopCountingMigration(instance.uuid);
  }
}

/**
 * Saves both records in one write and recounts them on this host's nodes in the same lock section (spec V20), as a pass
 * would. A node that is not tracked is no error; the next pass repeats a failed update of a node.
 * @throws ObjectActionError (`host changed`), UnexpectedTaskState, UnexpectedVmState, InstanceNotFound,
 * MigrationNotFound: nothing was written
 */
export async function saveMove(tracker: TrackerState, write: MoveWrite): Promise<Moved> {
  const { conductor } = tracker;
  return tracker.lock.run(async () => {
    tracker.binding.epoch += 1;
    const saved = await conductor.call("save_together", {
      instance: {
        uuid: write.instance.uuid,
        changes: write.changes,
        ...(write.expectedHost === undefined ? {} : { expectedHost: write.expectedHost }),
        ...(write.expectedTaskState ? { expectedTaskState: [...write.expectedTaskState] } : {}),
        ...(write.expectedVmState ? { expectedVmState: [...write.expectedVmState] } : {}),
      },
      ...(write.migrationChanges ? { migration: { id: write.migration.id, changes: write.migrationChanges } } : {}),
    });
    const moved: Moved = {
      instance: saved.instance ?? write.instance,
      migration: saved.migration ?? write.migration,
    };
    for (const node of touchedNodes(tracker, write.instance, moved)) {
      recountMove(tracker, node, moved, write.leaves === true);
      await updateQuietly(tracker, node, { statistics: "later" });
    }
    return moved;
  });
}

/** Returns this host's nodes on which the instance was, is, or is counted by its migration. */
function touchedNodes(tracker: TrackerState, before: Instance, { instance, migration }: Moved): readonly TrackedNode[] {
  const { host } = tracker;
  const names = new Set<string | null>();
  for (const row of [before, instance]) {
    if (row.host === host) {
      names.add(row.node);
    }
  }
  if (migration.sourceCompute === host) {
    names.add(migration.sourceNode);
  }
  if (migration.destCompute === host) {
    names.add(migration.destNode);
  }
  return [...names].flatMap((name) => tracker.nodes.get(name ?? "") ?? []);
}

function recountMove(tracker: TrackerState, node: TrackedNode, { instance, migration }: Moved, leaves: boolean): void {
  const where = { host: tracker.host, node: node.row.hypervisorHostname };
  const { account } = node;
  account.forgetMigration(instance.uuid);
  if (!leaves && instance.host === where.host && instance.node === where.node) {
    account.countInstance(instance);
  } else {
    account.forgetInstance(instance.uuid);
  }
  if (FINAL_MIGRATION_STATUSES.includes(migration.status)) {
    return;
  }
  if (!countsMigration(instance, migration, tracker.options.ignoreErroredEvacuations)) {
    return;
  }
  const flavor = flavorOfMigration(migration, instance, where, account.hasInstance(instance.uuid));
  account.countMigration(migration, flavor && flavorUsage(flavor, isVolumeBacked(instance)));
  account.assign(instance.uuid, contextResources(instance, migration, where));
}

/** Spec 4.2 `drop_move_claim_at_source`: confirms, and removes the old flavor's usage and the context. */
export function dropMoveClaimAtSource(
  tracker: TrackerState,
  { instance, migration }: Moved,
  changes: InstanceChanges,
  expectedTaskState: readonly (TaskState | null)[],
): Promise<Moved> {
  return saveMove(tracker, {
    instance,
    changes: { ...changes, migrationContext: null },
    expectedTaskState,
    migration,
    migrationChanges: { status: "confirmed" },
  });
}

/** Spec 4.2 `drop_move_claim_at_dest`: reverts, and removes the new flavor's usage, although the instance is still here. */
export async function dropMoveClaimAtDestination(
  tracker: TrackerState,
  { instance, migration }: Moved,
  changes: InstanceChanges,
): Promise<Moved> {
  return saveMove(tracker, {
    instance,
    changes: { ...changes, migrationContext: null },
    expectedTaskState: ["resize_reverting"],
    migration,
    migrationChanges: { status: "reverted" },
    leaves: migration.sourceCompute !== migration.destCompute || migration.sourceNode !== migration.destNode,
  });
}
