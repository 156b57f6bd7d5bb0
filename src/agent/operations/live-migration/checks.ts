import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import type { LiveMigrateData } from "../../../conductor-client/methods/agent.js";
import type { Instance } from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import { MigrationPreCheckError as DriverPreCheckError } from "../../../virt/errors.js";
import { demand } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices } from "../flow/contract.js";
import { assertServable, requireGroupPolicy } from "../flow/destination-checks.js";
import { attempt, withActionEvent } from "../flow/error-wrappers.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { driverData } from "./migration-flow.js";

interface DestinationCheck {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly blockMigration: boolean | null;
  readonly diskOverCommit: boolean;
  readonly requestId: string;
  /** The result of this host's driver; to be cleaned up. */
  made: LiveMigrateData | null;
  /** The same data after the source's check. */
  data: LiveMigrateData;
}

const STEPS = stepList<DestinationCheck>("check_can_live_migrate_destination", {
  check_destination: async (check) => {
    const { services, instance, blockMigration, diskOverCommit } = check;
    check.made = await services.driver.checkCanLiveMigrateDestination(instance, {
      blockMigration,
      diskOverCommit,
    });
  },
  check_source: async (check) => {
    const { services, instance, requestId, made } = check;
    const request = { instanceUuid: instance.uuid, data: made ?? {}, requestId };
    const { conductor } = services;
    check.data = await conductor.callAgent(instance.host ?? "", "check_can_live_migrate_source", request, {
      requestId,
    });
  },
});

/** Spec 6.5 row 4 on the destination, which calls the source. */
export const CHECK_DESTINATION: DemandingFlow<"check_can_live_migrate_destination"> = {
  steps: [STEPS],
  handle: checkDestination,
};

/** @throws MigrationPreCheckError: the conductor tries another host */
async function checkDestination(call: Call<"check_can_live_migrate_destination">): Promise<LiveMigrateData> {
  const { services, request, event } = call;
  const { blockMigration, diskOverCommit, requestId } = request;
  return withActionEvent(services, event, () =>
    preCheck(services, async () => {
      const { instance } = await demand(services, call, request);
      assertServable(request);
      await requireGroupPolicy(services, instance.uuid);
      const inputs = { services, instance, blockMigration, diskOverCommit, requestId };
      const check: DestinationCheck = { ...inputs, made: null, data: {} };
      try {
        await runSteps(services, STEPS, check);
        return check.data;
      } finally {
        const { made } = check;
        if (made) {
          await attempt(services, instance.uuid, "clean up after the checks of a live migration", () =>
            services.driver.cleanupLiveMigrationDestinationCheck(driverData(made)),
          );
        }
      }
    }),
  );
}

/** Spec 6.5 row 4 on the source. */
export const CHECK_SOURCE: DemandingFlow<"check_can_live_migrate_source"> = { steps: [], handle: checkSource };

/** @throws MigrationPreCheckError */
async function checkSource(call: Call<"check_can_live_migrate_source">): Promise<LiveMigrateData> {
  const { services, request, event } = call;
  return withActionEvent(services, event, () =>
    preCheck(services, async () => {
      const { instance } = await demand(services, call, request);
      return services.driver.checkCanLiveMigrateSource(instance, driverData(request.data));
    }),
  );
}

/** Converts any rejection into MigrationPreCheckError, after which the conductor tries another host. */
async function preCheck<T>(services: OperationServices, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (isConductorError(error, "InstanceNotFound", "MigrationPreCheckError")) {
      throw error;
    }
    services.logger.warn("this host cannot take part in the live migration", { err: error });
    const reason = publicMessageOf(error);
    throw new ConductorError(
      "MigrationPreCheckError",
      error instanceof DriverPreCheckError ? reason : `host ${services.host}: ${reason}`,
    );
  }
}
