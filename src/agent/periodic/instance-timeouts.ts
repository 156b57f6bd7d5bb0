import { isConductorError } from "../../conductor-client/errors.js";
import { effectiveDownTime, isUp } from "../../conductor-client/liveness.js";
import type { Instance, Migration } from "../../records/index.js";
import { requestId } from "../context.js";
import { ignore } from "../ignore-errors.js";
import type { AgentServices } from "../services.js";

/**
 * Spec 4.10 `_poll_unconfirmed_resizes`: confirms resizes that have been finished here for `resize_confirm_window`
 * seconds.
 */
export async function pollUnconfirmedResizes(services: AgentServices): Promise<void> {
  const { conductor, config, host, runtime } = services;
  const migrations = await conductor.call("migrations_by_filters", {
    filters: {
      destCompute: host,
      migrationTypes: ["migration", "resize"],
      statuses: ["finished"],
      updatedBefore: runtime.clock.now() - config.defaults.resizeConfirmWindow * 1000,
    },
  });
  for (const migration of migrations) {
    const fields = { instance: migration.instanceUuid, migration: migration.id };
    try {
      await poll(services, migration);
    } catch (err) {
      if (isConductorError(err, "InvalidMigrationState")) {
        services.logger.debug("a resize was confirmed or reverted meanwhile", { ...fields, err });
      } else {
        services.logger.error("a resize could not be confirmed; retrying later", { ...fields, err });
      }
    }
  }
}

/** @throws InvalidMigrationState: it was confirmed or reverted since it was read, as the instance may show */
async function poll(services: AgentServices, migration: Migration): Promise<void> {
  const { id, instanceUuid } = migration;
  const instance = await services.conductor.call("instance_get", { uuid: instanceUuid });
  const result = checkInstance(instance);
  const fields = { instance: instanceUuid, migration: id };
  if (result === "skip") {
    services.logger.debug("a resize is not confirmed: its instance has a task", fields);
  } else if (result === "confirm") {
    await confirm(services, migration);
  } else {
    services.logger.warn(`a resize cannot be confirmed: ${result.why}; its migration is set to error`, fields);
    await services.conductor.call("migration_save", { id, changes: { status: "error" }, expectedStatus: ["finished"] });
  }
}

function checkInstance(instance: Instance | null): "confirm" | "skip" | { readonly why: string } {
  if (instance === null) {
    return { why: "the instance does not exist" };
  }
  const { vmState, taskState } = instance;
  if (vmState === "error") {
    return { why: "the instance is in error" };
  }
  if (taskState === "deleting" || taskState === "soft-deleting" || taskState === "resize_finish") {
    return "skip";
  }
  if (vmState === "resized" && taskState === null) {
    return "confirm";
  }
  return { why: `the instance is ${vmState}, task ${taskState}` };
}

/**
 * Confirms as the API does. Checks the source's service first: a migration in `confirming` can be neither confirmed nor
 * reverted until the source has processed the message.
 */
async function confirm(services: AgentServices, migration: Migration): Promise<void> {
  const { conductor, logger } = services;
  const request = requestId(services);
  const { id: migrationId, instanceUuid, sourceCompute } = migration;
  const fields = { instance: instanceUuid, migration: migrationId, request_id: request };
  const source = sourceCompute ?? "";
  if (!(await serviceIsUp(services, source))) {
    logger.info(`a resize is not confirmed yet: the nova-compute service of its source ${source} is down`, fields);
    return;
  }
  logger.info("a resize is confirmed automatically: resize_confirm_window has passed", fields);
  await conductor.call("migration_save", {
    id: migrationId,
    changes: { status: "confirming" },
    expectedStatus: ["finished"],
  });
  const message = { instanceUuid, migrationId, requestId: request };
  await conductor.castAgent(source, "confirm_resize", message, { requestId: request });
}

async function serviceIsUp({ conductor, config, runtime }: AgentServices, host: string): Promise<boolean> {
  const { serviceDownTime, reportInterval } = config.defaults;
  const service = await conductor.call("service_get_by_host", { host, binary: "nova-compute" });
  const downTime = effectiveDownTime(serviceDownTime, reportInterval) * 1000;
  return service !== null && isUp(service, { now: runtime.clock.now(), serviceDownTime: downTime });
}

/**
 * Spec 4.10: sets instances to error that build for more than `instance_build_timeout` seconds. They keep their
 * task_state: the build continues, and may still make them active. Skips an instance that has progressed since it was
 * read, and one that is being deleted: its task_state is the delete's.
 */
export async function checkInstanceBuildTime(services: AgentServices): Promise<void> {
  const { conductor, config, host, logger, runtime } = services;
  const latest = runtime.clock.now() - config.defaults.instanceBuildTimeout * 1000;
  const building = await conductor.call("instances_by_filters", {
    filters: { vmStates: ["building"], host, deleted: false },
  });
  const late = building.filter(({ createdAt, taskState }) => createdAt < latest && taskState !== "deleting");
  for (const { uuid, taskState } of late) {
    const changes = { vmState: "error" } as const;
    const expected = { expectedHost: host, expectedTaskState: [taskState], expectedVmState: ["building" as const] };
    const options = { requestId: requestId(services) };
    const saved = await conductor
      .call("instance_save", { uuid, changes, ...expected }, options)
      .catch(
        ignore(["InstanceNotFound", "ObjectActionError", "UnexpectedTaskState", "UnexpectedVmState"], (err) =>
          logger.debug("the instance took long to build; it has progressed meanwhile", { instance: uuid, err }),
        ),
      );
    if (saved) {
      logger.warn("the instance took too long to build; it is set to error", { instance: uuid });
    }
  }
}
