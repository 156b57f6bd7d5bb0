import type { MigrationChanges } from "../../../records/index.js";
import type { LiveMigrationProgress } from "../../../virt/move-types.js";
import type { OperationServices } from "../contract.js";

/** Milliseconds between two writes of one migration's progress. */
const SPACING = 1_000;

/**
 * Saves the progress that the driver reports of a copy to the migration's record, once a second while there is any; the last of it
 * is saved with how the migration ends.
 */
export class ProgressSaver {
  readonly #context: OperationServices["context"];
  readonly #migrationId: number;
  #unsaved: LiveMigrationProgress | null = null;
  #saving: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;

  constructor({ context }: OperationServices, migrationId: number) {
    this.#context = context;
    this.#migrationId = migrationId;
  }

  note(progress: LiveMigrationProgress): void {
    this.#unsaved = progress;
    if (this.#cancel) {
      return;
    }
    this.#cancel = this.#context.runtime.timers.after(SPACING, () => {
      this.#cancel = null;
      this.#save();
    });
  }

  /** What is not saved. Nothing is written after it has resolved. */
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
    try {
      await this.#context.conductor.call("migration_save", { id: this.#migrationId, changes: columnsOf(progress) });
    } catch (err) {
      this.#context.runtime.logger.debug("progress of a live migration could not be saved", {
        migration: this.#migrationId,
        err,
      });
    }
  }
}

/** Whole bytes. */
function columnsOf(progress: LiveMigrationProgress): MigrationChanges {
  const { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining } = progress;
  const columns = { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining };
  return Object.fromEntries(Object.entries(columns).map(([name, bytes]) => [name, Math.trunc(bytes)]));
}
