import { admit } from "../admission/admission.js";
import type { Call, DemandingFlow, ReplyOf } from "../contract.js";
import { recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { runSteps } from "../flow/step-list.js";
import { COPY_STEPS } from "./copy-guest.js";
import { POST_STEPS } from "./finish-migration.js";
import { driverData, type Flow } from "./flow.js";
import { endOrAbandon, migrate, revertRejectedMigration } from "./migrate.js";
import type { OutgoingMigration } from "./outgoing-migration.js";
import { ROLLBACK_STEPS } from "./roll-back.js";

/** Spec 6.5 rows 5 to 9 on the source; it has ended when all is over. */
export const LIVE_MIGRATION: DemandingFlow<"live_migration"> = {
  steps: [COPY_STEPS, POST_STEPS, ROLLBACK_STEPS],
  handle: liveMigration,
};

async function liveMigration(call: Call<"live_migration">): Promise<ReplyOf<"live_migration">> {
  const { services, request, event } = call;
  const { instanceUuid, migrationId } = request;
  await services.outgoing.working(instanceUuid, migrationId, (entry) =>
    withActionEvent(services.context, event, () =>
      recordingFault(services.context, instanceUuid, async () => {
        const flow = await accept(call, entry);
        await inTurn(flow);
      }),
    ),
  );
  return null;
}

/** Row 5. @throws UnexpectedTaskState, InvalidMigrationState: it is no longer waited for. */
async function accept(call: Call<"live_migration">, entry: OutgoingMigration): Promise<Flow> {
  const { services, request } = call;
  const { migrationId, dest, data, requestId } = request;
  const result = await admit(services.context, call, request);
  if ("rejected" in result) {
    await revertRejectedMigration(services, request, result.rejected);
    throw result.rejected.error;
  }
  const { instance } = result.admitted;
  const migration = await services.context.conductor.call("migration_save", {
    id: migrationId,
    changes: { status: "queued" },
    expectedStatus: ["accepted"],
  });
  return {
    services,
    requestId,
    entry,
    dest,
    instance,
    migration,
    data: {
      ...driverData(data),
      ...(request.blockMigration === null ? {} : { blockMigration: request.blockMigration }),
    },
    prepared: false,
    copying: false,
    outcome: null,
    progress: {},
    end: { status: "error" },
    isRecovery: false,
    arrived: false,
    error: undefined,
  };
}

async function inTurn(flow: Flow): Promise<void> {
  const { entry, services } = flow;
  if (services.outgoing.closed) {
    await cancel(flow, "error");
    return;
  }
  try {
    await services.outgoing.inTurn(entry, async () => {
      entry.phase = "preparing";
      await migrate(flow);
    });
  } catch (error) {
    if (!entry.turn.aborted || entry.phase !== "queued") {
      throw error;
    }
    await cancel(flow, "cancelled");
  }
}

async function cancel(flow: Flow, status: Flow["end"]["status"]): Promise<void> {
  flow.end = { status };
  await endOrAbandon(flow, async () => {
    await runSteps(flow.services, ROLLBACK_STEPS, flow);
  });
}
