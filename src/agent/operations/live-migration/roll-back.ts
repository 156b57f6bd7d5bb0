import { isConductorError } from "../../../conductor-client/errors.js";
import type { AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../../conductor-client/methods/method.js";
import { type InstanceChanges, type MigrationChanges, POWER_STATES } from "../../../records/index.js";
import { takeBack } from "../../volumes/live-attachments.js";
import { attempt, mustNotUndo } from "../flow/error-wrappers.js";
import { revertToSource } from "../flow/move-allocations.js";
import { stepList } from "../flow/step-list.js";
import { callDestination, DestinationFailed, type Flow, moveOptions } from "./migration-flow.js";

/**
 * Spec 6.5 "Rollback" on the source. The allocations come first, so that no usable instance appears without them (V27).
 * Status and task state come last, in one write: until then a restart finds the migration and rolls it back again.
 */
export const ROLLBACK_STEPS = stepList<Flow>("rollback_live_migration", {
  give_back_allocations: (flow) => revertToSource(flow.services, flow, { requestId: flow.requestId }),
  restore_source: async ({ services, instance, data }) => {
    await attempt(services, instance.uuid, "roll back the live migration on the hypervisor", async () =>
      services.driver.rollbackLiveMigrationAtSource(instance, await moveOptions(services, instance, data)),
    );
  },
  clean_destination: async (flow) => {
    if (flow.prepared) {
      await cleanDestination(flow, !flow.data.sharedInstanceFiles);
    }
  },
  // After the destination has removed its connections.
  restore_volumes: async ({ services, instance, devices, prepared }) => {
    if (prepared) {
      await takeBack(services, instance, devices);
    }
  },
  record_end: async (flow) => {
    const { status, vmState } = flow.end;
    await saveEnd(flow, { taskState: null, ...(vmState ? { vmState } : {}) }, { status });
  },
});

const METHOD = "rollback_live_migration_at_destination";
type RemoveParams = ParamsOf<AgentMethods, typeof METHOD>;

/** Makes the destination remove its leftovers. An unreachable destination gets the request as a message. */
export async function cleanDestination(flow: Flow, destroyDisks: boolean): Promise<void> {
  const { services, dest, instance, migration, data, requestId } = flow;
  const params = { instanceUuid: instance.uuid, migrationId: migration.id, destroyDisks, data, requestId };
  try {
    await removeThere(flow, params);
  } catch (error) {
    if (mustNotUndo(error)) {
      throw error;
    }
    const silent = error instanceof DestinationFailed && error.silent;
    services.logger.warn("the destination could not remove the leftovers of a live migration", {
      instance: instance.uuid,
      migration: migration.id,
      later: silent,
      err: error,
    });
    if (silent) {
      await services.conductor.castAgent(dest, METHOD, params);
    }
  }
}

/**
 * Removes a guest that runs on the destination if one runs here *after* the destination's reply. It was then not just
 * handed over: a reboot or a rebuild has created this host's again, where the records have the instance.
 */
async function removeThere(flow: Flow, params: RemoveParams): Promise<void> {
  try {
    await callDestination(flow, METHOD, params);
  } catch (error) {
    const runsThere = error instanceof DestinationFailed && error.guestRuns;
    if (!runsThere || (await flow.services.driver.powerState(flow.instance)) !== POWER_STATES.running) {
      throw error;
    }
    await callDestination(flow, METHOD, { ...params, guestGoes: true });
  }
}

/** Saves both records in one write; for a deleted or vanishing instance only the migration's. */
export async function saveEnd(flow: Flow, instance: InstanceChanges, migration: MigrationChanges): Promise<void> {
  const { conductor } = flow.services;
  const { uuid } = flow.instance;
  const end = { id: flow.migration.id, changes: { ...flow.progress, ...migration } };
  try {
    await conductor.call("save_together", {
      instance: { uuid, changes: instance, expectedTaskState: ["migrating"] },
      migration: end,
    });
  } catch (error) {
    if (!isConductorError(error, "UnexpectedTaskState", "InstanceNotFound")) {
      throw error;
    }
    await conductor.call("migration_save", end);
  }
}
