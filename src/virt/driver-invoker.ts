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

/** What a method of the contract is given, its options last. */
export type DriverArguments<M extends DriverMethod> =
  Required<Parameters<NonNullable<VirtDriver[M]>>> extends readonly [...infer Subject, infer Last]
    ? [...Subject, Last | undefined]
    : [];

/** Methods after which a guest's ports are connected. */
const CONNECTING: readonly DriverMethod[] = [
  "spawn",
  "rebuild",
  "finishMigration",
  "finishRevertMigration",
  "preLiveMigration",
  "plugVifs",
];

/** Calls the methods of one author's driver. */
export class DriverInvoker {
  readonly name: string;
  readonly checks: DriverChecks;
  readonly #driver: VirtDriver;
  readonly #caller: DriverCaller;
  readonly #deps: DriverCallDeps;
  /** Milliseconds that a driver has to return from a live migration after its call-back. */
  readonly #grace: number;

  constructor(name: string, driver: VirtDriver, deps: DriverCallDeps, options: DriverCallOptions) {
    this.name = name;
    this.checks = checksOf(name);
    this.#driver = driver;
    this.#caller = new DriverCaller(name, deps, options);
    this.#deps = deps;
    this.#grace = options.grace ?? DEFAULT_GRACE;
  }

  /** The author wrote this method; where it matters which default applies. */
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

  /** The calls that are under way, each in words. */
  get waitedFor(): ReadonlyMap<object, string> {
    return this.#caller.waitedFor;
  }

  /** Until `work` ends, calls about this instance are made for this request. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.#caller.requests.during(instanceUuid, requestId, work);
  }

  /** For methods that return nothing. */
  run<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    return this.ask(method, this.checks.nothing, ...args);
  }

  /** @throws {NotImplemented} */
  async runNeeded<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    this.#need(method);
    await this.run(method, ...args);
  }

  /** Does nothing where the author left the method out. */
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

  /** Answers `otherwise` where the author left the method out. */
  async askOr<M extends DriverMethod, R>(
    otherwise: R,
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: DriverArguments<M>
  ): Promise<R> {
    return this.supports(method) ? this.ask(method, check, ...args) : otherwise;
  }

  /** Calls the author's method. What makes a guest, or connects it, is given the ports that it has now. */
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

  /** The last argument is always the options, which get the signal of the time-out too. */
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

  /** Returns when what the core does in the driver's call-back has ended. @throws {NotImplemented} */
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
