import type { DriverOperationOptions, VirtDriver } from "./driver.js";
import type { DriverCaller } from "./driver-call.js";
import { DriverChecks } from "./driver-checks.js";
import type { DriverMethod } from "./driver-methods.js";
import { NotImplemented } from "./errors.js";
import type { LiveMigrationHandover } from "./live-migration-handover.js";
import type { Instance } from "./types.js";

/** What a method of the contract is given, its options last. */
export type DriverArguments<M extends DriverMethod> =
  Required<Parameters<NonNullable<VirtDriver[M]>>> extends readonly [...infer Subject, infer Last]
    ? [...Subject, Last | undefined]
    : [];

/** Calls the methods of one author's driver. */
export class DriverInvoker {
  readonly name: string;
  readonly checks: DriverChecks;
  readonly #driver: VirtDriver;
  readonly #caller: DriverCaller;

  constructor(name: string, driver: VirtDriver, caller: DriverCaller) {
    this.name = name;
    this.checks = new DriverChecks(name);
    this.#driver = driver;
    this.#caller = caller;
  }

  /** The author wrote this method; where it matters which default applies. */
  supports(method: DriverMethod): boolean {
    return typeof this.#driver[method] === "function";
  }

  /** @throws {NotImplemented} */
  need(method: DriverMethod): void {
    if (this.supports(method)) {
      return;
    }
    throw new NotImplemented(
      `driver ${this.name} has no ${method}: use a driver that has it, or add the method to this one`,
    );
  }

  /** Until `work` ends, calls about this instance are made for this request. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.#caller.requests.during(instanceUuid, requestId, work);
  }

  /** For methods that return nothing. */
  run<M extends DriverMethod>(method: M, ...args: DriverArguments<M>): Promise<void> {
    return this.ask(method, this.checks.nothing, ...args);
  }

  /** Calls the author's method; its last argument is always the options, which get the signal of the time-out too. */
  ask<M extends DriverMethod, R>(
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: DriverArguments<M>
  ): Promise<R> {
    const options = args.at(-1) as DriverOperationOptions | undefined;
    const instanceUuid = uuidOf(args[INSTANCE_SECOND.has(method) ? 1 : 0]);
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

  /** Returns when the driver has called back. */
  callLiveMigration(
    handover: LiveMigrationHandover,
    instance: Instance,
    dest: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const behalf = this.#caller.behalfOf(instance.uuid);
    return this.#caller.call({
      method: "liveMigration",
      instanceUuid: instance.uuid,
      requestId: behalf.requestId,
      signal,
      invoke: (stop) =>
        handover.called(
          (async () => this.#driver.liveMigration?.(instance, dest, { ...handover.optionsFor(stop), ...behalf }))(),
        ),
      check: this.checks.nothing,
    });
  }
}

/** The uuid of the instance that a call is about; undefined: it is about the host, or about several. */
function uuidOf(subject: unknown): string | undefined {
  return typeof subject === "object" && subject !== null && "uuid" in subject ? String(subject.uuid) : undefined;
}

const INSTANCE_SECOND: ReadonlySet<DriverMethod> = new Set(["finishMigration", "confirmMigration"]);
