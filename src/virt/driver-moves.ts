import type { DriverOperationOptions } from "./driver.js";
import type { DriverInvoker } from "./driver-invoker.js";
import type {
  ConfirmMigrationOptions,
  FinishMigrationOptions,
  FinishRevertOptions,
  LiveMigrateData,
  LiveMigrationCheckOptions,
  LiveMigrationOptions,
  MigrateDiskOptions,
  PostLiveMigrationOptions,
  PreLiveMigrationOptions,
  RollbackAtDestinationOptions,
} from "./move-types.js";
import type { DestroyOptions, Instance, Migration } from "./types.js";

type Options = DriverOperationOptions;

/** How the core moves a driver's guests, with the contract's default where the author left a method out. */
export class DriverMoves {
  readonly #invoker: DriverInvoker;

  constructor(invoker: DriverInvoker) {
    this.#invoker = invoker;
  }

  /** @throws {NotImplemented} {@link InstanceFaultRollback} */
  migrateDiskAndPowerOff(instance: Instance, options: MigrateDiskOptions): Promise<string> {
    return this.#invoker.askNeeded("migrateDiskAndPowerOff", this.#invoker.checks.anyText, instance, options);
  }

  /** @throws {NotImplemented} */
  finishMigration(
    migration: Migration,
    instance: Instance,
    diskInfo: string,
    options: FinishMigrationOptions,
  ): Promise<void> {
    return this.#invoker.runNeeded("finishMigration", migration, instance, diskInfo, options);
  }

  /** @throws {NotImplemented} */
  confirmMigration(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void> {
    return this.#invoker.runNeeded("confirmMigration", migration, instance, options);
  }

  /** A driver without it is only told to power on, if that is wanted. */
  async finishRevertMigration(instance: Instance, options: FinishRevertOptions): Promise<void> {
    if (this.#invoker.supports("finishRevertMigration")) {
      await this.#invoker.run("finishRevertMigration", instance, options);
    } else if (options.powerOn) {
      await this.#invoker.run("powerOn", instance, options.signal ? { signal: options.signal } : {});
    }
  }

  /** @throws {NotImplemented} {@link MigrationPreCheckError} */
  checkCanLiveMigrateDestination(instance: Instance, options: LiveMigrationCheckOptions): Promise<LiveMigrateData> {
    return this.#invoker.askNeeded(
      "checkCanLiveMigrateDestination",
      this.#invoker.checks.liveMigrateData,
      instance,
      options,
    );
  }

  /** @throws {NotImplemented} {@link MigrationPreCheckError} */
  checkCanLiveMigrateSource(instance: Instance, data: LiveMigrateData, options?: Options): Promise<LiveMigrateData> {
    return this.#invoker.askNeeded(
      "checkCanLiveMigrateSource",
      this.#invoker.checks.liveMigrateData,
      instance,
      data,
      options,
    );
  }

  cleanupLiveMigrationDestinationCheck(data: LiveMigrateData, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("cleanupLiveMigrationDestinationCheck", data, options);
  }

  /** @throws {NotImplemented} */
  preLiveMigration(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData> {
    return this.#invoker.askNeeded("preLiveMigration", this.#invoker.checks.liveMigrateData, instance, options);
  }

  /**
   * Settles when the driver's call-back has. Its time-out, and the caller's signal, hold until the driver calls back; a
   * call-back after that, or a second one, is refused and logged.
   * @throws what the call-back throws, or the driver before it. {@link VirtDriverMisbehaved} it called neither.
   */
  liveMigration(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void> {
    return this.#invoker.liveMigration(instance, dest, options);
  }

  /** @throws {NotImplemented} */
  liveMigrationForceComplete(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("liveMigrationForceComplete", instance, options);
  }

  /** @throws {NotImplemented} */
  liveMigrationAbort(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("liveMigrationAbort", instance, options);
  }

  postLiveMigration(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    return this.#invoker.runIfThere("postLiveMigration", instance, options);
  }

  postLiveMigrationAtSource(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    return this.#invoker.runIfThere("postLiveMigrationAtSource", instance, options);
  }

  postLiveMigrationAtDestination(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    return this.#invoker.runIfThere("postLiveMigrationAtDestination", instance, options);
  }

  rollbackLiveMigrationAtSource(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    return this.#invoker.runIfThere("rollbackLiveMigrationAtSource", instance, options);
  }

  async rollbackLiveMigrationAtDestination(instance: Instance, options: RollbackAtDestinationOptions): Promise<void> {
    if (this.#invoker.supports("rollbackLiveMigrationAtDestination")) {
      return this.#invoker.run("rollbackLiveMigrationAtDestination", instance, options);
    }
    const { data: _, ...destroyOptions } = options;
    await this.cleanup(instance, destroyOptions);
  }

  /** @throws {InstanceExists} */
  async cleanup(instance: Instance, options: DestroyOptions): Promise<void> {
    if (this.#invoker.supports("cleanup")) {
      await this.#invoker.run("cleanup", instance, options);
    } else {
      await this.#invoker.run("destroy", instance, options);
    }
  }
}
