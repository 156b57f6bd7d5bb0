import type { DriverOperationOptions, VirtDriver } from "./driver.js";
import { DEFAULT_GRACE, type DriverCallDeps, DriverCaller, type DriverCallOptions } from "./driver-call.js";
import { checksOf, type DriverChecks } from "./driver-checks.js";
import { type DriverMethod, subjectOf } from "./driver-methods.js";
import { NotImplemented } from "./errors.js";
import { LiveMigrationHandover } from "./live-migration-handover.js";
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
} from "./move-methods.js";
import type { DestroyOptions, Instance, Migration } from "./types.js";

/** The arguments of a contract method, with its options last. */
export type DriverArguments<M extends DriverMethod> =
  Required<Parameters<NonNullable<VirtDriver[M]>>> extends readonly [...infer Subject, infer Last]
    ? [...Subject, Last | undefined]
    : [];

/** Methods that leave the guest's ports connected. */
const CONNECTING: readonly DriverMethod[] = [
  "spawn",
  "rebuild",
  "finishMigration",
  "finishRevertMigration",
  "preLiveMigration",
  "plugVifs",
];

/** Calls the methods of one driver. */
export class DriverInvoker {
  readonly name: string;
  readonly checks: DriverChecks;
  readonly #driver: VirtDriver;
  readonly #caller: DriverCaller;
  readonly #deps: DriverCallDeps;
  /** Milliseconds that a driver has to return from a live migration after its callback. */
  readonly #grace: number;

  constructor(name: string, driver: VirtDriver, deps: DriverCallDeps, options: DriverCallOptions) {
    this.name = name;
    this.checks = checksOf(name);
    this.#driver = driver;
    this.#caller = new DriverCaller(name, deps, options);
    this.#deps = deps;
    this.#grace = options.grace ?? DEFAULT_GRACE;
  }

  /** Returns whether the driver implements the method, for decisions about defaults. */
  supports(method: DriverMethod): boolean {
    return typeof this.#driver[method] === "function";
  }

  #need(method: DriverMethod): void {
    if (this.supports(method)) {
      return;
    }
    throw new NotImplemented(
      `driver ${this.name} has no ${method}: use a driver that has it, or add the method to this one`,
    );
  }

  /** Descriptions of the pending calls. */
  get waitedFor(): ReadonlyMap<object, string> {
    return this.#caller.waitedFor;
  }

  /** Makes calls about this instance on behalf of this request until `work` settles. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.#caller.requests.during(instanceUuid, requestId, work);
  }

  /** Calls a method that returns nothing. */
  run<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    return this.ask(method, this.checks.nothing, ...args);
  }

  /** @throws {NotImplemented} */
  async runNeeded<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    this.#need(method);
    await this.run(method, ...args);
  }

  /** Calls the method if the driver implements it. */
  async runIfThere<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    if (this.supports(method)) {
      await this.run(method, ...args);
    }
  }

  /** @throws {NotImplemented} */
  async askNeeded<M extends DriverMethod, R>(
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: DriverArguments<M>
  ): Promise<R> {
    this.#need(method);
    return this.ask(method, check, ...args);
  }

  /** Returns `otherwise` if the driver does not implement the method. */
  async askOr<M extends DriverMethod, R>(
    otherwise: R,
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: DriverArguments<M>
  ): Promise<R> {
    return this.supports(method) ? this.ask(method, check, ...args) : otherwise;
  }

  /** Calls the method. A method that builds or connects a guest gets the guest's current ports. */
  async ask<M extends DriverMethod, R>(
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: DriverArguments<M>
  ): Promise<R> {
    const { ports } = this.#deps;
    const instance = CONNECTING.includes(method) ? (args as readonly unknown[]).find(isInstance) : undefined;
    const network = ports && instance ? await ports.of(instance, signalIn(args)) : [];
    if (!ports || !instance || network.length === 0) {
      return this.#ask(method, check, args);
    }
    const callArgs = [...args.slice(0, -1), { ...(args.at(-1) as object | undefined), network }];
    const result = await this.#ask(method, check, callArgs as DriverArguments<M>);
    await ports.connected(instance.uuid, network);
    return result;
  }

  /** Adds the signal of the timeout to the options, which are always the last argument. */
  #ask<M extends DriverMethod, R>(
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    args: DriverArguments<M>,
  ): Promise<R> {
    const options = args.at(-1) as DriverOperationOptions | undefined;
    const instanceUuid = subjectOf(method, args);
    const behalf = this.#caller.behalfOf(instanceUuid);
    return this.#caller.call({
      method,
      instanceUuid,
      requestId: behalf.requestId,
      signal: options?.signal,
      invoke: (signal) =>
        Reflect.apply(this.#driver[method] as () => unknown, this.#driver, [
          ...args.slice(0, -1),
          { ...options, signal, ...behalf },
        ]),
      check: (value) => check(method, value),
    });
  }

  /** Returns when the core's work in the driver's callback has ended. @throws {NotImplemented} */
  async liveMigration(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void> {
    this.#need("liveMigration");
    const handover = new LiveMigrationHandover(this.name, options, this.#grace, this.#deps);
    const behalf = this.#caller.behalfOf(instance.uuid);
    try {
      await this.#caller.call({
        method: "liveMigration",
        instanceUuid: instance.uuid,
        requestId: behalf.requestId,
        signal: options.signal,
        invoke: (stop) =>
          handover.called(
            (async () => this.#driver.liveMigration?.(instance, dest, { ...handover.optionsFor(stop), ...behalf }))(),
          ),
        check: this.checks.nothing,
      });
    } catch (error) {
      handover.close();
      throw error;
    }
    await handover.finished();
  }
}

function isInstance(argument: unknown): argument is Instance {
  return typeof argument === "object" && argument !== null && "systemMetadata" in argument;
}

function signalIn(args: readonly unknown[]): { readonly signal?: AbortSignal } {
  const options = args.at(-1) as DriverOperationOptions | undefined;
  return options?.signal ? { signal: options.signal } : {};
}

type Options = DriverOperationOptions;

/** Calls the methods for moves, with the contract's default for methods that the driver does not implement. */
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

  /** Calls `powerOn`, if the guest should run, on drivers that do not implement the method. */
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
   * Settles when the driver's callback has settled. The timeout and the caller's signal apply until the driver calls back. A
   * second callback, or one after the timeout, is rejected and logged.
   * @throws the error of the callback, or the driver's error before it; {@link VirtDriverMisbehaved} if there was no
   * callback.
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
