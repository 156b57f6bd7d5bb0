import { attempt } from "../flow/error-wrappers.js";
import { stepList } from "../flow/step-list.js";
import { callDestination } from "./destination-call.js";
import { driverData, type Flow } from "./flow.js";
import { LiveMigrationAborted } from "./outgoing-migration.js";
import { ProgressSaver } from "./progress-saver.js";

/** Spec 6.5 rows 6 and 7 on the source. An abort is looked at before each step that could not be taken back at once. */
export const COPY_STEPS = stepList<Flow>("live_migration", {
  mark_preparing: async (flow) => {
    await saveStatus(flow, "queued", "preparing");
  },
  prepare_destination: async (flow) => {
    const { instance, migration, data, requestId } = flow;
    flow.prepared = true;
    const prepare = () =>
      callDestination(flow, "pre_live_migration", {
        instanceUuid: instance.uuid,
        migrationId: migration.id,
        blockMigration: data.blockMigration,
        data,
        requestId,
      });
    flow.data = driverData(await flow.services.context.ports.whileDestinationPlugs(instance, prepare));
  },
  mark_running: async (flow) => {
    await saveStatus(flow, "preparing", "running");
    assertNotAborted(flow.entry);
  },
  copy: (flow) => copy(flow),
});

async function saveStatus(flow: Flow, from: "queued" | "preparing", to: "preparing" | "running"): Promise<void> {
  assertNotAborted(flow.entry);
  flow.migration = await flow.services.context.conductor.call("migration_save", {
    id: flow.migration.id,
    changes: { status: to },
    expectedStatus: [from],
  });
}

function assertNotAborted({ aborted, migrationId }: Flow["entry"]): void {
  if (aborted) {
    throw new LiveMigrationAborted(migrationId);
  }
}

/** The call-backs only say what has happened; what follows from it is done when the driver has let go. */
async function copy(flow: Flow): Promise<void> {
  const { services, entry, instance, dest, data } = flow;
  const { driver } = services.context;
  const progress = new ProgressSaver(services, flow.migration.id);
  let stopped = false;
  flow.copying = true;
  entry.phase = "running";
  try {
    await driver.moves.liveMigration(instance, dest, {
      blockMigration: data.blockMigration,
      data,
      onProgress: (news) => {
        progress.note(news);
        if (!entry.aborted || stopped) {
          return;
        }
        // Asked for before the driver had begun, when there was nothing to stop.
        stopped = true;
        void attempt(services.context, instance.uuid, "stop the live migration", () =>
          driver.moves.liveMigrationAbort(instance),
        );
      },
      postMethod: async () => {
        flow.outcome = "moved";
      },
      recoverMethod: async ({ status }) => {
        flow.outcome = status;
      },
    });
  } finally {
    entry.phase = "ending";
    flow.progress = await progress.close();
  }
}
