import type { ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { Instance, InstanceChanges, Migration, TaskState } from "../../records/index.js";
import { updateQuietly } from "./claims.js";
import { readDisabled, updateNode } from "./node-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration } from "./usage.js";

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

/** The instance is this node's from now on, and no move leads here any more. */
async function takeOver(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  changes: InstanceChanges,
  expected: Pick<SavedInstance, "expectedHost" | "expectedTaskState" | "ofRequest">,
  migration: Pick<ParamsOf<ConductorMethods, "save_together">, "migration">,
): Promise<Instance> {
  const { lock, nodes, binding, context } = tracker;
  return lock.run(async () => {
    const node = nodes.get(nodeName);
    binding.epoch += 1;
    const saved = await context.conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: {
          ...changes,
          host: context.host,
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
  const { lock, binding, context, nodes } = tracker;
  return lock.run(async () => {
    binding.epoch += 1;
    const saved = await context.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes,
      ...(expectedTaskState ? { expectedTaskState: [...expectedTaskState], expectedHost: instance.host } : {}),
    });
    const node = instance.host === context.host ? nodes.get(instance.node ?? "") : undefined;
    if (node) {
      count(tracker, saved, node);
      await updateQuietly(tracker, node);
    }
    return saved;
  });
}

function count(tracker: TrackerState, instance: Instance, node: TrackedNode): void {
  const here = instance.host === tracker.context.host && instance.node === node.row.hypervisorHostname;
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
