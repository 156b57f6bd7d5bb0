import type { LiveMigrationProgress } from "../../../virt/move-types.js";
import type { OperationServices } from "../contract.js";

/** Milliseconds between two writes of one migration's progress. */
const SPACING = 1_000;

/** Saves the progress that the driver reports of a copy to the migration's record, at most once a second, the last of it always. */
export class ProgressSaver {
  readonly #context: OperationServices["context"];
  readonly #migrationId: number;
  #unsaved: LiveMigrationProgress | null = null;
  #savedAt = Number.NEGATIVE_INFINITY;
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
    const { clock, timers } = this.#context.runtime;
    const wait = Math.max(0, this.#savedAt + SPACING - clock.monotonic());
    this.#cancel = timers.after(wait, () => {
      this.#cancel = null;
      this.#save();
    });
  }

  /** Nothing is written after it has resolved. */
  async close(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    this.#save();
    await this.#saving;
  }

  #save(): void {
    const progress = this.#unsaved;
    if (!progress) {
      return;
    }
    this.#unsaved = null;
    this.#savedAt = this.#context.runtime.clock.monotonic();
    this.#saving = this.#saving.then(() => this.#write(progress));
  }

  async #write(progress: LiveMigrationProgress): Promise<void> {
    const { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining } = progress;
    const whole = { memoryTotal, memoryProcessed, memoryRemaining, diskTotal, diskProcessed, diskRemaining };
    try {
      await this.#context.conductor.call("migration_save", {
        id: this.#migrationId,
        changes: Object.fromEntries(Object.entries(whole).map(([name, bytes]) => [name, Math.trunc(bytes)])),
      });
    } catch (err) {
      this.#context.runtime.logger.debug("progress of a live migration could not be saved", {
        migration: this.#migrationId,
        err,
      });
    }
  }
}
