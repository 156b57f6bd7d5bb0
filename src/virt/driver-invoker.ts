import type { DriverHostDeps } from "./context.js";
import type { VirtDriver } from "./driver.js";
import { DEFAULT_GRACE, DriverCaller, type DriverCallOptions } from "./driver-call.js";
import { checksOf, type DriverChecks } from "./driver-checks.js";
import { DRIVER_METHODS, type DriverMethod, type DriverResult, subjectOf } from "./driver-methods.js";
import { NotImplemented } from "./errors.js";
import { LiveMigrationHandover } from "./live-migration-handover.js";
import type { LiveMigrationOptions } from "./move-methods.js";
import type { CallOptions, Instance, NetworkInfo } from "./types.js";

/** The arguments of a contract method, with its options last. */
export type DriverArguments<M extends DriverMethod> = Parameters<NonNullable<VirtDriver[M]>>;

type ConnectOptions = CallOptions & { readonly network?: readonly NetworkInfo[] };

/** Methods that leave the guest's ports connected. */
const CONNECTING: readonly DriverMethod[] = [
  "spawn",
  "rebuild",
  "finishMigration",
  "finishRevertMigration",
  "preLiveMigration",
  "plugVifs",
];

/** Calls the methods of one driver by their rows in {@link DRIVER_METHODS}. */
export class DriverInvoker {
  readonly name: string;
  protected readonly checks: DriverChecks;
  protected readonly driver: VirtDriver;
  readonly #caller: DriverCaller;
  readonly #deps: DriverHostDeps;
  /** Milliseconds that a driver has to return from a live migration after its callback. */
  readonly #grace: number;

  constructor(name: string, driver: VirtDriver, deps: DriverHostDeps, options: DriverCallOptions) {
    this.name = name;
    this.checks = checksOf(name);
    this.driver = driver;
    this.#caller = new DriverCaller(name, deps, options);
    this.#deps = deps;
    this.#grace = options.grace ?? DEFAULT_GRACE;
  }

  /** Returns whether the driver implements the method, for decisions about defaults. */
  supports(method: DriverMethod): boolean {
    return typeof this.driver[method] === "function";
  }

  /** Descriptions of the pending calls. */
  get waitedFor(): ReadonlyMap<object, string> {
    return this.#caller.waitedFor;
  }

  /** Passes the request's id to the driver and the log in calls about this instance, until `work` settles. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.#caller.requests.during(instanceUuid, requestId, work);
  }

  /**
   * Calls the method, or does what its row requires if the driver lacks it.
   * @throws {NotImplemented}
   */
  async invoke<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<DriverResult<M>> {
    const { without, result } = DRIVER_METHODS[method];
    if (without !== undefined && !this.supports(method)) {
      return (typeof without === "boolean" ? without : this.#withoutMethod(method, without)) as DriverResult<M>;
    }
    // The type of the table ensures that this check returns the method's result.
    const check = this.checks[result ?? "nothing"] as (method: string, value: unknown) => DriverResult<M>;
    return this.invokeChecked(check, method, ...args);
  }

  /**
   * Calls a method that the driver implements. A method that builds or connects a guest gets the guest's current ports.
   * @param check checks the driver's result
   */
  async invokeChecked<M extends DriverMethod, R>(
    check: (method: string, value: unknown) => R,
    method: M,
    ...allArgs: DriverArguments<M>
  ): Promise<R> {
    const { ports } = this.#deps;
    const count = DRIVER_METHODS[method].args;
    const args: readonly unknown[] = allArgs.slice(0, count);
    const options = allArgs[count] as ConnectOptions | undefined;
    const instance = CONNECTING.includes(method) ? args.find(isInstance) : undefined;
    const signal = options?.signal;
    const network = ports && instance ? await ports.of(instance, signal ? { signal } : {}) : [];
    if (!ports || !instance || network.length === 0) {
      return this.#call(check, method, args, options);
    }
    const result = await this.#call(check, method, args, { ...options, network });
    await ports.connected(instance.uuid, network);
    return result;
  }

  /** Adds the signal of the timeout to the options. */
  #call<R>(
    check: (method: string, value: unknown) => R,
    method: DriverMethod,
    args: readonly unknown[],
    options: ConnectOptions | undefined,
  ): Promise<R> {
    const instanceUuid = subjectOf(method, args);
    const behalf = this.#caller.behalfOf(instanceUuid);
    return this.#caller.call({
      method,
      instanceUuid,
      requestId: behalf.requestId,
      signal: options?.signal,
      invoke: (signal) =>
        Reflect.apply(this.driver[method] as () => unknown, this.driver, [...args, { ...options, signal, ...behalf }]),
      check: (value) => check(method, value),
    });
  }

  #withoutMethod(method: DriverMethod, without: "reject" | "replace" | "ignore"): void {
    if (without !== "ignore") {
      throw new NotImplemented(
        `driver ${this.name} has no ${method}: use a driver that has it, or add the method to this one`,
      );
    }
  }

  /**
   * Settles when the driver's callback has settled. The timeout and the caller's signal apply until the driver calls back. A
   * second callback, or one after the timeout, is rejected and logged.
   * @throws the error of the callback, or the driver's error before it; {@link VirtDriverMisbehaved} if there was no
   * callback; {@link NotImplemented}.
   */
  async liveMigration(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void> {
    if (!this.supports("liveMigration")) {
      this.#withoutMethod("liveMigration", "reject");
    }
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
            (async () => this.driver.liveMigration?.(instance, dest, { ...handover.optionsFor(stop), ...behalf }))(),
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
