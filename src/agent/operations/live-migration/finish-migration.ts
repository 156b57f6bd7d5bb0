import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import {
  FINAL_MIGRATION_STATUSES,
  type InstanceChanges,
  type Migration,
  type TaskState,
} from "../../../records/index.js";
import { letGo } from "../../volumes/live-attachments.js";
import { orMigrationAlone } from "../cold-move/move-request.js";
import { attempt, mustNotUndo } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { finishSource } from "../flow/move-allocations.js";
import { STOP, stepList } from "../flow/step-list.js";
import {
  callDestination,
  callReturningDestination,
  DestinationFailed,
  type Flow,
  fieldsOf,
  moveOptions,
  reasonToKeep,
} from "./migration-flow.js";

/**
 * Spec 6.5 rows 8 and 9 on the source: the guest runs on the destination. Unlike upstream, the status is written last:
 * if the source dies before that, it finds the migration again, and M does not leak.
 */
export const POST_STEPS = stepList<Flow>("post_live_migration", {
  let_go: async (flow) => {
    const { services, instance, data } = flow;
    await attempt(services, instance.uuid, "release the guest's resources here", async () =>
      services.driver.postLiveMigration(instance, await moveOptions(services, instance, data)),
    );
    await attempt(services, instance.uuid, "release the guest's volumes here", () => releaseVolumes(flow));
  },
  unplug: async ({ services, instance, data }) => {
    await attempt(services, instance.uuid, "unplug the guest's networks here", async () =>
      services.driver.postLiveMigrationAtSource(instance, await moveOptions(services, instance, data)),
    );
  },
  finish_destination: async (flow) => {
    if (!flow.arrived) {
      await finishDestination(flow);
    }
  },
  clean_source: async (flow) => {
    if (!flow.arrived) {
      return;
    }
    const { services, instance } = flow;
    await services.locks.run(instance.uuid, async () => {
      flow.instance = await currentInstance(flow);
      await attempt(services, instance.uuid, "remove the guest's leftovers here", async () => {
        try {
          await cleanSource(flow);
        } catch (error) {
          // Reads the instance again: it may have come back since, under another migration.
          services.left.add(instance.uuid, async () => cleanSource({ ...flow, instance: await currentInstance(flow) }));
          throw error;
        }
      });
    });
  },
  // A guest that has not arrived was counted when its records were written.
  recount: async ({ services, instance, migration, arrived }) => {
    if (arrived) {
      await attempt(services, instance.uuid, "recount the node", () =>
        services.tracker.updateUsage(instance, migration.sourceNode ?? ""),
      );
    }
  },
  release_allocations: async (flow) => {
    if (flow.error) {
      return STOP;
    }
    try {
      const { services, requestId, isRecovery } = flow;
      await finishSource(services, flow, { requestId, repeated: isRecovery });
      return undefined;
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      flow.error = error;
      await recordError(flow);
      return STOP;
    }
  },
  record_completed: async (flow) => {
    flow.migration = await flow.services.conductor.call("migration_save", {
      id: flow.migration.id,
      changes: { ...flow.progress, status: "completed" },
    });
  },
});

/** Removes the attachments of this host. The guest is on the destination, which has its own. */
async function releaseVolumes(flow: Flow): Promise<void> {
  await letGo(flow.services, flow.instance, flow.devices);
  flow.released = true;
}

async function cleanSource(flow: Flow): Promise<void> {
  const { services, instance, migration, data } = flow;
  const { driver, logger } = services;
  const why = await reasonToKeep(services, migration, instance);
  if (why === null) {
    if (!flow.released) {
      await releaseVolumes(flow);
    }
    await driver.cleanup(instance, await destroyOptions(services, instance, !data.sharedInstanceFiles));
    return;
  }
  const fields = { ...fieldsOf({ instance, migration }), reason: why };
  logger.warn("the leftovers of a live migration on its source are kept", fields);
}

/** Row 8. If it fails, the migration continues: the guest is on the destination, so the records follow it. */
async function finishDestination(flow: Flow): Promise<void> {
  const { services, instance, migration, dest, requestId } = flow;
  const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId };
  try {
    const call = flow.isRecovery ? callDestination : callReturningDestination;
    await call(flow, "post_live_migration_at_destination", params);
  } catch (error) {
    if (!(error instanceof DestinationFailed)) {
      throw error;
    }
    const current = await services.conductor.call("instance_get", { uuid: instance.uuid });
    if (!current) {
      throw new ConductorError(
        "InstanceNotFound",
        `instance ${instance.uuid} was deleted while its guest moved to ${dest}`,
      );
    }
    if (current.host === services.host && !(await isOver(flow))) {
      if (flow.isRecovery) {
        throw error;
      }
      await forceToDestination(flow, error);
      return;
    }
    services.logger.warn("the destination has taken over the instance, but its reply was lost", {
      ...fieldsOf(flow),
      host: current.host,
      err: error,
    });
  }
  flow.arrived = true;
}

/**
 * Returns whether the migration has been ended elsewhere. Either the instance continued with a later move from another
 * host, so it had arrived, although it may be here again. Or an evacuation has ended the migration, and the guest is
 * settled with that one's leftovers (spec 2.6 row 15'). A failed evacuation, after which this migration continues, has
 * settled nothing.
 */
async function isOver({ services, instance, migration }: Flow): Promise<boolean> {
  const filters = { instanceUuid: instance.uuid };
  const moves = await services.conductor.call("migrations_by_filters", { filters });
  const { host } = services;
  const goesOn = moves.some(({ id, status }) => id === migration.id && !FINAL_MIGRATION_STATUSES.includes(status));
  const hasEnded = ({ migrationType, status }: Migration) =>
    migrationType === "evacuation" && !(goesOn && (status === "failed" || status === "error"));
  return moves.some((move) => move.id > migration.id && (hasEnded(move) || move.sourceCompute !== host));
}

/** Row 8, fail: the source saves the records, and no longer counts the instance (V20); the allocations of M stay. */
async function forceToDestination(flow: Flow, error: DestinationFailed): Promise<void> {
  const { tracker } = flow.services;
  const { migration, instance } = flow;
  const host = { host: flow.dest, node: migration.destNode, computeId: migration.destComputeId };
  const expectedHost = flow.services.host;
  const move = { instance, migration, migrationChanges: { status: "error" }, expectedHost } as const;
  flow.error = error;
  try {
    const changes: InstanceChanges = { ...host, vmState: "error", taskState: null };
    await tracker.saveMove({ ...move, changes, expectedTaskState: ["migrating"] });
  } catch (failure) {
    if (!isConductorError(failure, "UnexpectedTaskState")) {
      throw failure;
    }
    // The instance is being deleted, or its state was reset: that request continues where the guest is, and the
    // task_state stays.
    const deleting = isConductorError(failure, "UnexpectedDeletingTaskState");
    const changes: InstanceChanges = deleting ? host : { ...host, vmState: "error" };
    const expectedTaskState = [failure.data.actual as TaskState | null];
    await tracker.saveMove({ ...move, changes, expectedTaskState });
  }
}

/** Row 9, fail: M leaks, and an operator must check it. Changes of users since the arrival are not overwritten. */
async function recordError({ services, instance, migration, dest }: Flow): Promise<void> {
  const { uuid, vmState } = instance;
  const expected = { expectedHost: dest, expectedTaskState: [null], expectedVmState: [vmState] };
  await attempt(services, uuid, "set the live migration to error", () =>
    orMigrationAlone(services, migration, async () => {
      await services.conductor.call("save_together", {
        instance: { uuid, changes: { vmState: "error" }, ...expected },
        migration: { id: migration.id, changes: { status: "error" } },
      });
      return true;
    }),
  );
}

async function currentInstance({ services, instance }: Flow): Promise<Flow["instance"]> {
  return (await services.conductor.call("instance_get", { uuid: instance.uuid, readDeleted: true })) ?? instance;
}
