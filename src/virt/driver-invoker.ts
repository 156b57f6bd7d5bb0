import type { DriverOperationOptions, VirtDriver } from "./driver.js";
import { DEFAULT_GRACE, type DriverCallDeps, DriverCaller, type DriverCallOptions } from "./driver-call.js";
import { checksOf, type DriverChecks } from "./driver-checks.js";
import { type DriverMethod, subjectOf } from "./driver-methods.js";
import { NotImplemented } from "./errors.js";
import { LiveMigrationHandover } from "./live-migration-handover.js";
import type { LiveMigrationOptions } from "./move-types.js";
import type { Instance } from "./types.js";

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
