import type { DriverOperationOptions } from "./driver.js";
import type { DriverInvoker } from "./driver-invoker.js";
import { type HandoverDoors, LiveMigrationHandover } from "./live-migration-handover.js";
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

export interface HostedMovesOptions {
  /** Milliseconds that a driver has to return from a live migration after its call-back. */
  readonly grace: number;
}

/** The methods of {@link MoveMethods} on an author's driver, with the contract's defaults and checks. */
export abstract class HostedMoves {
  protected readonly invoker: DriverInvoker;
  readonly #doors: HandoverDoors;
  readonly #grace: number;

  constructor(invoker: DriverInvoker, doors: HandoverDoors, { grace }: HostedMovesOptions) {
    this.invoker = invoker;
    this.#doors = doors;
    this.#grace = grace;
  }

  abstract powerOn(instance: Instance, options?: Options): Promise<void>;
  abstract destroy(instance: Instance, options: DestroyOptions): Promise<void>;

  /** @throws {NotImplemented} {@link InstanceFaultRollback} */
  async migrateDiskAndPowerOff(instance: Instance, options: MigrateDiskOptions): Promise<string> {
    const method = "migrateDiskAndPowerOff";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.anyText, instance, options);
  }

  /** @throws {NotImplemented} */
  async finishMigration(
    migration: Migration,
    instance: Instance,
    diskInfo: string,
    options: FinishMigrationOptions,
  ): Promise<void> {
    this.invoker.need("finishMigration");
    await this.invoker.run("finishMigration", migration, instance, diskInfo, options);
  }

  /** @throws {NotImplemented} */
  async confirmMigration(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void> {
    this.invoker.need("confirmMigration");
    await this.invoker.run("confirmMigration", migration, instance, options);
  }

  /** A driver without it is only told to power on, if that is wanted. */
  async finishRevertMigration(instance: Instance, options: FinishRevertOptions): Promise<void> {
    if (this.invoker.supports("finishRevertMigration")) {
      await this.invoker.run("finishRevertMigration", instance, options);
    } else if (options.powerOn) {
      await this.powerOn(instance, options.signal ? { signal: options.signal } : {});
    }
  }

  /** @throws {NotImplemented} {@link MigrationPreCheckError} */
  async checkCanLiveMigrateDestination(
    instance: Instance,
    options: LiveMigrationCheckOptions,
  ): Promise<LiveMigrateData> {
    const method = "checkCanLiveMigrateDestination";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.liveMigrateData, instance, options);
  }

  /** @throws {NotImplemented} {@link MigrationPreCheckError} */
  async checkCanLiveMigrateSource(
    instance: Instance,
    data: LiveMigrateData,
    options?: Options,
  ): Promise<LiveMigrateData> {
    const method = "checkCanLiveMigrateSource";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.liveMigrateData, instance, data, options);
  }

  async cleanupLiveMigrationDestinationCheck(data: LiveMigrateData, options?: Options): Promise<void> {
    const method = "cleanupLiveMigrationDestinationCheck";
    if (this.invoker.supports(method)) {
      await this.invoker.run(method, data, options);
    }
  }

  /** @throws {NotImplemented} */
  async preLiveMigration(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData> {
    const method = "preLiveMigration";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.liveMigrateData, instance, options);
  }

  /**
   * Settles when the driver's call-back has. Its time-out, and the caller's signal, hold until the driver calls back; a
   * call-back after that, or a second one, is refused and logged.
   * @throws what the call-back throws, or the driver before it. {@link VirtDriverMisbehaved} it called neither.
   */
  async liveMigration(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void> {
    const method = "liveMigration";
    this.invoker.need(method);
    const handover = new LiveMigrationHandover(this.invoker.name, options, this.#grace, this.#doors);
    try {
      await this.invoker.callLiveMigration(handover, instance, dest, options.signal);
    } catch (error) {
      handover.close();
      throw error;
    }
    await handover.finished();
  }

  /** @throws {NotImplemented} */
  async liveMigrationForceComplete(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("liveMigrationForceComplete");
    await this.invoker.run("liveMigrationForceComplete", instance, options);
  }

  /** @throws {NotImplemented} */
  async liveMigrationAbort(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("liveMigrationAbort");
    await this.invoker.run("liveMigrationAbort", instance, options);
  }

  async postLiveMigration(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    if (this.invoker.supports("postLiveMigration")) {
      await this.invoker.run("postLiveMigration", instance, options);
    }
  }

  async postLiveMigrationAtSource(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    const method = "postLiveMigrationAtSource";
    if (this.invoker.supports(method)) {
      await this.invoker.run(method, instance, options);
    }
  }

  async postLiveMigrationAtDestination(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    const method = "postLiveMigrationAtDestination";
    if (this.invoker.supports(method)) {
      await this.invoker.run(method, instance, options);
    }
  }

  async rollbackLiveMigrationAtSource(instance: Instance, options: PostLiveMigrationOptions): Promise<void> {
    const method = "rollbackLiveMigrationAtSource";
    if (this.invoker.supports(method)) {
      await this.invoker.run(method, instance, options);
    }
  }

  async rollbackLiveMigrationAtDestination(instance: Instance, options: RollbackAtDestinationOptions): Promise<void> {
    const method = "rollbackLiveMigrationAtDestination";
    if (this.invoker.supports(method)) {
      return this.invoker.run(method, instance, options);
    }
    const { data: _, ...destroyOptions } = options;
    await this.cleanup(instance, destroyOptions);
  }

  /** @throws {InstanceExists} */
  async cleanup(instance: Instance, options: DestroyOptions): Promise<void> {
    if (this.invoker.supports("cleanup")) {
      await this.invoker.run("cleanup", instance, options);
    } else {
      await this.destroy(instance, options);
    }
  }
}
