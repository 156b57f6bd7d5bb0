import { InstanceNotFound, UnexpectedTaskState } from "../../../conductor/errors.js";
import type { InstanceChanges } from "../../../conductor/records/index.js";
import { attempt, mustNotUndo } from "../error-wrappers.js";
import { destroyOptions } from "../guest-options.js";
import { finishSource } from "../move-allocations.js";
import { STOP, stepList } from "../step-list.js";
import { callDestination, callReturningDestination, DestinationFailed } from "./destination-call.js";
import { type Flow, fieldsOf, moveOptions } from "./flow.js";

/**
 * Spec 6.5 rows 8 and 9 on the source: the guest runs on the destination. The status is written last, other than upstream:
 * a source that dies before it finds the migration again, and M does not leak.
 */
export const POST_STEPS = stepList<Flow>("post_live_migration", {
  let_go: async ({ parts: { context }, instance, data }) => {
    await attempt(context, instance.uuid, "let go of what the guest used here", () =>
      context.driver.postLiveMigration(instance, moveOptions(data)),
    );
  },
  unplug: async ({ parts: { context }, instance, data }) => {
    await attempt(context, instance.uuid, "unplug the guest's networks here", () =>
      context.driver.postLiveMigrationAtSource(instance, moveOptions(data)),
    );
  },
  finish_destination: async (flow) => {
    if (!flow.arrived) await finishDestination(flow);
  },
  clean_source: async ({ parts: { context }, arrived, instance, data }) => {
    if (!arrived) return;
    await attempt(context, instance.uuid, "remove what the guest left here", () =>
      context.driver.cleanup(instance, destroyOptions(!data.sharedInstanceFiles)),
    );
  },
  recount: async ({ parts: { context, tracker }, instance, migration }) => {
    await attempt(context, instance.uuid, "count the node anew", () =>
      tracker.updateAvailableResourceForNode(migration.sourceNode ?? ""),
    );
  },
  release_allocations: async (flow) => {
    if (flow.error) return STOP;
    try {
      await finishSource(flow.parts, flow, { requestId: flow.requestId });
      return undefined;
    } catch (error) {
      if (mustNotUndo(error)) throw error;
      flow.error = error;
      await recordError(flow);
      return STOP;
    }
  },
  record_completed: async (flow) => {
    flow.migration = await flow.parts.context.conductor.call("migration_save", {
      id: flow.migration.id,
      changes: { status: "completed" },
    });
  },
});

/** Row 8; its failure is not the end: the guest is there, so that the records follow it. */
async function finishDestination(flow: Flow): Promise<void> {
  const { parts, instance, migration, dest, requestId } = flow;
  const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId };
  try {
    const call = flow.patient ? callDestination : callReturningDestination;
    await call(flow, "post_live_migration_at_destination", params);
  } catch (error) {
    if (!(error instanceof DestinationFailed)) throw error;
    const current = await parts.context.conductor.call("instance_get", { uuid: instance.uuid });
    if (!current) throw new InstanceNotFound(`instance ${instance.uuid} was deleted while its guest moved to ${dest}`);
    if (current.host !== dest) {
      if (flow.patient) throw error;
      await forceToDestination(flow, error);
      return;
    }
    parts.context.runtime.logger.warn("the destination has taken over the instance, but its answer was lost", {
      ...fieldsOf(flow),
      err: error,
    });
  }
  flow.arrived = true;
  flow.instance = await currentInstance(flow);
}

/** Row 8, fail: the source writes what the destination should have written, and counts it no more (V20); it keeps M. */
async function forceToDestination(flow: Flow, error: DestinationFailed): Promise<void> {
  const { tracker } = flow.parts;
  const { migration, instance } = flow;
  const host = { host: flow.dest, node: migration.destNode, computeId: migration.destComputeId };
  const move = { instance, migration, migrationChanges: { status: "error" } } as const;
  flow.error = error;
  try {
    const changes: InstanceChanges = { ...host, vmState: "error", taskState: null };
    await tracker.saveMove({ ...move, changes, expectedTaskState: ["migrating"] });
  } catch (failure) {
    if (!(failure instanceof UnexpectedTaskState)) throw failure;
    // It is being deleted: that goes on where the guest is.
    await tracker.saveMove({ ...move, changes: host });
  }
}

/** Row 9, fail: M leaks, and somebody has to look at it. */
async function recordError({ parts, instance, migration }: Flow): Promise<void> {
  const changes: InstanceChanges = { vmState: "error" };
  await attempt(parts.context, instance.uuid, "set the live migration to error", () =>
    parts.context.conductor.call("save_together", {
      instance: { uuid: instance.uuid, changes },
      migration: { id: migration.id, changes: { status: "error" } },
    }),
  );
}

async function currentInstance({ parts, instance }: Flow): Promise<Flow["instance"]> {
  return (await parts.context.conductor.call("instance_get", { uuid: instance.uuid, readDeleted: true })) ?? instance;
}
