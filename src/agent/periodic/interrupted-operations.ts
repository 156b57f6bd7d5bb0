import type { Instance, Migration } from "../../records/index.js";
import { requireHostLease } from "../host-lease.js";
import type { InterruptedRequest } from "../operations/flow/unfinished-work.js";
import type { AgentServices } from "../services.js";
import { initInstance } from "../startup/init-instance.js";
import { failInterruptedBuilds, findInterruptedBuilds } from "../startup/interrupted-builds.js";
import { failInterruptedEvacuation, findInterruptedEvacuations } from "../startup/interrupted-evacuations.js";

/** Tasks of moves, which have recoveries of their own that check both hosts; `resize_migrating` concerns the source only. */
const MOVES = /^(resize_(?!migrating)|migrating)/;

/**
 * Spec 2.6 OPT: repeats the actions of a start for instances that a conductor timeout or a lost lease left in the
 * middle of an operation. Also handles deletes of which only the row is left.
 */
export async function settleInterruptedRequests(services: AgentServices): Promise<void> {
  const { interrupted } = services.operations;
  for (const request of interrupted.all) {
    const instance = await services.conductor.call("instance_get", { uuid: request.instanceUuid });
    const isRow = instance?.host === services.host && instance.vmState === "deleted";
    if (instance !== null && (isRow || isLeft(instance, request))) {
      services.logger.warn(
        "an operation on the instance was interrupted: the conductor did not respond or rejected a call, or the lease was lost; recovering as at a start",
        {
          instance: instance.uuid,
          request_id: request.requestId,
          task_state: instance.taskState,
        },
      );
      await takeUp(services, instance);
    }
    // Leftovers of a delete are checked until they are gone.
    if (!isRow) {
      interrupted.remove(request);
    }
  }
}

/**
 * Returns whether the request's end was not saved, and no other request was admitted since. A build has no task_state
 * between its acceptance and its claim; any other request admitted to a building instance sets one.
 */
function isLeft({ vmState, taskState, taskRequestId }: Instance, { requestId }: InterruptedRequest): boolean {
  return taskState === null ? vmState === "building" : taskRequestId === requestId && !MOVES.test(taskState);
}

async function takeUp(services: AgentServices, instance: Instance): Promise<void> {
  const { uuid, host } = instance;
  if (host === services.host) {
    return initInstance(services, instance);
  }
  const nodes = [...services.tracker.nodes().values()];
  if (host === null) {
    const builds = await findInterruptedBuilds(services, nodes, new Set());
    return failInterruptedBuilds(
      services,
      builds.filter((build) => build.uuid === uuid),
    );
  }
  for (const found of await findInterruptedEvacuations(services, nodes)) {
    if (found.instance.uuid === uuid) {
      await failInterruptedEvacuation(services, found);
    }
  }
}

/**
 * Spec 3.7 `_cleanup_incomplete_migrations`: removes leftovers of a failed move whose instance was then deleted
 * elsewhere. Its record in status `error` counts on this node until it is `failed`.
 */
export async function cleanUpIncompleteMigrations(services: AgentServices): Promise<void> {
  const migrations = await services.conductor.call("migrations_by_filters", {
    filters: { host: services.host, statuses: ["error"], readDeleted: true },
  });
  if (migrations.length === 0) {
    return;
  }
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, uuids: migrations.map(({ instanceUuid }) => instanceUuid) },
  });
  const deleted = new Map(instances.map((instance) => [instance.uuid, instance]));
  for (const migration of migrations) {
    const instance = deleted.get(migration.instanceUuid);
    if (instance && instance.host !== services.host) {
      await cleanUp(services, instance, migration);
    }
  }
}

async function cleanUp(services: AgentServices, instance: Instance, migration: Migration): Promise<void> {
  requireHostLease(services, `clean up after migration ${migration.id}`);
  const fields = { instance: instance.uuid, migration: migration.id };
  try {
    await services.driver.deleteInstanceFiles(instance);
    // The instance's migration_context contains the guest's resources on this host: old_* on the source, new_*
    // elsewhere.
    await services.driver.cleanupLingeringInstanceResources(instance);
    await services.conductor.call("migration_save", { id: migration.id, changes: { status: "failed" } });
  } catch (error) {
    services.logger.error("could not remove the leftovers of a failed move", { ...fields, err: error });
  }
}
