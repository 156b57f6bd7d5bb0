import type { MigrationChanges } from "../../../records/index.js";
import type { LiveMigrationProgress } from "../../../virt/move-methods.js";
import type { OperationServices } from "../flow/contract.js";
import { attempt } from "../flow/error-wrappers.js";
import { LiveMigrationAborted } from "../flow/outgoing-migrations.js";
import { stepList } from "../flow/step-list.js";
import { callDestination, driverData, type Flow } from "./migration-flow.js";

/** Milliseconds between two writes of one migration's progress. */
const SAVE_INTERVAL_MS = 1_000;

/**
 * Saves the copy's progress, as reported by the driver, to the migration's record, once a second at most. The last
 * report is saved with the migration's final status.
 * @internal
 */
export class ProgressSaver {
  readonly #context: OperationServices;
  readonly #migrationId: number;
  #unsaved: LiveMigrationProgress | null = null;
  #saving: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;

  constructor(services: OperationServices, migrationId: number) {
    this.#context = services;
    this.#migrationId = migrationId;
  }

  note(progress: LiveMigrationProgress): void {
    this.#unsaved = progress;
    if (this.#cancel) {
      return;
    }
    this.#cancel = this.#context.runtime.timers.after(SAVE_INTERVAL_MS, () => {
      this.#cancel = null;
      this.#save();
    });
  }

  /** Returns the unsaved changes. Nothing is written after it has resolved. */
  async close(): Promise<MigrationChanges> {
    this.#cancel?.();
    this.#cancel = null;
    await this.#saving;
    return this.#unsaved === null ? {} : columnsOf(this.#unsaved);
  }

  #save(): void {
    const progress = this.#unsaved;
    if (!progress) {
      return;
    }
    this.#unsaved = null;
    this.#saving = this.#saving.then(() => this.#write(progress));
  }

  async #write(progress: LiveMigrationProgress): Promise<void> {
    const { conductor, logger } = this.#context;
    const write = { id: this.#migrationId, changes: columnsOf(progress) };
    await conductor.call("migration_save", write).catch((err: unknown) => {
      logger.debug("progress of a live migration could not be saved", { migration: this.#migrationId, err });
    });
  }
}

/** Spec 6.5 rows 6 and 7 on the source. Checks for an abort before each step that could not be reverted immediately. */
export const COPY_STEPS = stepList<Flow>("live_migration", {
  mark_preparing: async (flow) => {
    await saveStatus(flow, "queued", "preparing");
  },
  prepare_destination: async (flow) => {
    const { instance, migration, data, requestId } = flow;
    flow.devices = await flow.services.volumes.devices(instance);
    flow.prepared = true;
    const prepare = () =>
      callDestination(flow, "pre_live_migration", {
        instanceUuid: instance.uuid,
        migrationId: migration.id,
        blockMigration: data.blockMigration,
        data,
        requestId,
      });
    flow.data = driverData(await flow.services.ports.whileDestinationPlugs(instance, prepare));
  },
  mark_running: async (flow) => {
    await saveStatus(flow, "preparing", "running");
    assertNotAborted(flow.entry);
  },
  copy: (flow) => copy(flow),
});

async function saveStatus(flow: Flow, from: "queued" | "preparing", to: "preparing" | "running"): Promise<void> {
  assertNotAborted(flow.entry);
  flow.migration = await flow.services.conductor.call("migration_save", {
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

/** The callbacks only record what happened; the consequences follow after the driver's call has returned. */
async function copy(flow: Flow): Promise<void> {
  const { services, entry, instance, dest, data } = flow;
  const { driver } = services;
  const progress = new ProgressSaver(services, flow.migration.id);
  let stopped = false;
  flow.copying = true;
  entry.phase = "running";
  try {
    await driver.liveMigration(instance, dest, {
      blockMigration: data.blockMigration,
      data,
      onProgress: (news) => {
        progress.note(news);
        if (!entry.aborted || stopped) {
          return;
        }
        // The abort was requested before the driver had begun, when there was nothing to stop.
        stopped = true;
        void attempt(services, instance.uuid, "stop the live migration", () => driver.liveMigrationAbort(instance));
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

/** Truncated to integers. */
function columnsOf(progress: LiveMigrationProgress): MigrationChanges {
  const { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining } = progress;
  const columns = { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining };
  return Object.fromEntries(Object.entries(columns).map(([name, bytes]) => [name, Math.trunc(bytes)]));
}
