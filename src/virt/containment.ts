import { dirname, relative } from "node:path";
import type { Scope } from "../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import type { DriverContext, VirtApi } from "./context.js";
import type { DriverDefinition, VirtDriver } from "./driver.js";
import { DEFAULT_GRACE } from "./driver-call.js";
import { placeOf, textOf } from "./driver-error.js";
import { membersOf, subjectOf } from "./driver-methods.js";
import { DriverLogger } from "./driver-output.js";
import { VirtDriverMisbehaved } from "./errors.js";
import type { CallOptions } from "./types.js";

/** The means to stop a driver and to wait for it. */
interface Stopping {
  readonly stop: AbortController;
  readonly timers: Timers;
}

/**
 * A pending driver call that fails if other code of the driver fails: it is stopped, and abandoned if it does not settle.
 */
class UnderWay {
  readonly #stopping: Stopping | undefined;
  #failure: Error | undefined;
  #giveUp: (reason: Error) => void = () => {};
  #cancel = () => {};

  /** @param stopping if absent, the call cannot be stopped and is abandoned at once */
  constructor(stopping?: Stopping) {
    this.#stopping = stopping;
  }

  /** Fails the call; only the first reason counts. */
  fail(reason: Error): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure = reason;
    if (this.#stopping === undefined) {
      this.#giveUp(reason);
      return;
    }
    const { stop, timers } = this.#stopping;
    this.#cancel = timers.after(DEFAULT_GRACE, () => this.#giveUp(reason));
    stop.abort(reason);
  }

  /** Settles with `promise`, or rejects if the call has failed meanwhile. @param end is called when the call has settled */
  until<T>(promise: PromiseLike<T>, end: () => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = (reason) => {
        end();
        reject(reason);
      };
      if (this.#failure !== undefined && this.#stopping === undefined) {
        this.#giveUp(this.#failure);
      }
      const settle = (settled: () => void) => {
        this.#cancel();
        end();
        if (this.#failure === undefined) {
          settled();
        } else {
          reject(this.#failure);
        }
      };
      promise.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}

/** The method name for an unidentified call. */
const UNKNOWN_METHOD = "one of its calls";

/** A call from the core into a driver's code. */
export interface ContainedCall {
  readonly driver: string;
  /** A method of the contract, `import`, or `create`. */
  readonly method: string;
  /** Uuid of the instance that the call is about. */
  readonly instance?: string;
  readonly requestId?: string;
  /** The context of the driver, which belongs to one host during one run of its agent. Absent for `import`. */
  readonly context?: DriverContext;
  /** Milliseconds since the epoch. */
  readonly began: number;
}

/** An error of a driver outside every promise or stack of its calls. */
export interface UnhandledError {
  readonly call: ContainedCall;
  /** `rejection`: an unhandled promise rejection. `exception`: an error in a callback, such as a timer's. */
  readonly kind: "rejection" | "exception";
  readonly error: unknown;
  /** Whether the call was still pending, and therefore fails. */
  readonly failsCall: boolean;
}

/**
 * Identifies the driver call to which running code belongs, also in the driver's timers, promises and listeners. An error
 * there fails the call if it is still pending.
 */
export class Containment {
  readonly #scope: Scope<ContainedCall>;
  readonly #clock: Pick<Clock, "now">;
  readonly #underWay = new Map<ContainedCall, UnderWay>();
  /** Folder of each driver's module. */
  readonly #homes = new Map<string, string>();
  #onCall: (call: ContainedCall) => void = () => {};

  constructor(scope: Scope<ContainedCall>, clock: Pick<Clock, "now">) {
    this.#scope = scope;
    this.#clock = clock;
  }

  /** The driver call whose code is running; undefined in the core's own code. */
  get current(): ContainedCall | undefined {
    return this.#scope.current;
  }

  /** Sets a listener that is notified before each call. */
  onCall(listener: (call: ContainedCall) => void): void {
    this.#onCall = listener;
  }

  /** Loads a driver's module, which runs its code. @param name the value of `compute_driver` */
  async load<T>(name: string, load: () => Promise<T>): Promise<T> {
    return this.#enter({ driver: name, method: "import" }, new UnderWay(), load);
  }

  /** Returns the same definition with a contained driver. @param file the module's path; null: unknown */
  over(definition: DriverDefinition, file: string | null = null): DriverDefinition {
    const { name: driver } = definition;
    if (file !== null) {
      this.#homes.set(driver, dirname(file));
    }
    const create = async (context: DriverContext): Promise<VirtDriver> => {
      const make = async () => definition.create(this.#wrapContext(driver, context));
      const made = await this.#enter({ driver, method: "create", context }, new UnderWay(), make);
      return this.#contained(driver, made, context);
    };
    return { ...definition, create };
  }

  /** Records an uncaught error; returns null if it is not a driver's. */
  recordUnhandled(kind: UnhandledError["kind"], error: unknown): UnhandledError | null {
    // Microtasks in Node 20 have no scope. A rejection does not end the process, so only a certain attribution counts.
    const call = this.#scope.current ?? (kind === "exception" ? this.#thrownIn(error) : undefined);
    if (call === undefined) {
      return null;
    }
    const underWay = this.#underWay.get(call);
    underWay?.fail(toUnhandledReason(call, kind, error));
    return { call, kind, error, failsCall: underWay !== undefined };
  }

  /** Attributes the error by the file of the driver's module; undefined if no driver matches. */
  #thrownIn(error: unknown): ContainedCall | undefined {
    const place = placeOf(error);
    const driver = [...this.#homes].find(([, home]) => place !== undefined && isOwn(relative(home, place)))?.[0];
    if (driver === undefined) {
      return undefined;
    }
    const calls = [...this.#underWay.keys()].filter((call) => call.driver === driver);
    const [only] = calls.length === 1 ? calls : [];
    const contexts = new Set(calls.map(({ context }) => context));
    const [context] = contexts.size === 1 ? contexts : [];
    const unknown = { driver, method: UNKNOWN_METHOD, began: this.#clock.now() };
    return only ?? (context === undefined ? unknown : { ...unknown, context });
  }

  #enter<T>(of: Omit<ContainedCall, "began">, underWay: UnderWay, work: () => T): T {
    const call = { ...of, began: this.#clock.now() };
    this.#onCall(call);
    this.#underWay.set(call, underWay);
    const end = () => this.#underWay.delete(call);
    try {
      const result = this.#scope.run(call, work);
      if (isThenable(result)) {
        return underWay.until(result, end) as T;
      }
      end();
      return result;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Runs the functions of the context outside the driver's scope, except timers, which belong to the driver. */
  #wrapContext(driver: string, context: DriverContext): DriverContext {
    const { virtApi, timers, clock } = context;
    const after = (milliseconds: number, action: () => void): CancelTimer => {
      const call = this.#scope.current;
      // Timers in a simulation do not preserve the scope.
      return timers.after(milliseconds, call === undefined ? action : () => this.#scope.run(call, action));
    };
    const fields = () => fieldsOf(this.#scope.current ?? { driver });
    return Object.freeze({
      ...context,
      logger: new DriverLogger(context.logger, { driver, clock, timers, fields }),
      timers: { after, sleep: (milliseconds: number, signal?: AbortSignal) => timers.sleep(milliseconds, signal) },
      localNodeUuid: this.#leaving(() => context.localNodeUuid()),
      emitEvent: this.#leaving((event: Parameters<DriverContext["emitEvent"]>[0]) => context.emitEvent(event)),
      virtApi: {
        instanceUuidsOfHost: this.#leaving((options?: CallOptions) => virtApi.instanceUuidsOfHost(options)),
        liveHosts: this.#leaving((type: string, options?: CallOptions) => virtApi.liveHosts(type, options)),
        instanceStates: this.#leaving((uuid: string, options?: CallOptions) => virtApi.instanceStates(uuid, options)),
        // The driver's own callback runs in the scope of its call.
        waitForVifs: (...waiting: Parameters<VirtApi["waitForVifs"]>) => virtApi.waitForVifs(...waiting),
      },
    });
  }

  #contained(driverName: string, driver: VirtDriver, context: DriverContext): VirtDriver {
    // The check of the result of create reports the value that it found.
    if (typeof driver !== "object" || driver === null) {
      return driver;
    }
    const contained = {};
    for (const name of membersOf(driver)) {
      const get = (): unknown => {
        const member: unknown = Reflect.get(driver, name);
        return typeof member === "function"
          ? (...args: readonly unknown[]) =>
              this.#call({ driver: driverName, method: name, context }, args, (callArgs) =>
                Reflect.apply(member, driver, callArgs),
              )
          : member;
      };
      Object.defineProperty(contained, name, { get, enumerable: true });
    }
    return contained as VirtDriver;
  }

  #call(
    of: Required<Pick<ContainedCall, "driver" | "method" | "context">>,
    args: readonly unknown[],
    invoke: (args: readonly unknown[]) => unknown,
  ): unknown {
    const options: unknown = args.at(-1);
    const optionFields = typeof options === "object" && options !== null ? options : {};
    const instance = subjectOf(of.method, args);
    const call = {
      ...of,
      ...(instance === undefined ? {} : { instance }),
      ...("requestId" in optionFields ? { requestId: String(optionFields.requestId) } : {}),
    };
    const stop = new AbortController();
    const signal =
      "signal" in optionFields && optionFields.signal instanceof AbortSignal ? optionFields.signal : undefined;
    const own =
      signal === undefined
        ? options
        : { ...this.#callBacks(optionFields), signal: AbortSignal.any([signal, stop.signal]) };
    const passed = args.length === 0 ? args : [...args.slice(0, -1), own];
    return this.#enter(call, new UnderWay({ stop, timers: of.context.timers }), () => invoke(passed));
  }

  #callBacks(options: object): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      Object.entries(options).map(([name, value]: [string, unknown]) => [
        name,
        typeof value === "function"
          ? this.#leaving((...args: unknown[]) => Reflect.apply(value, options, args))
          : value,
      ]),
    );
  }

  /** Wraps a function of the core for drivers: a rejection that the driver does not handle is attributed to the driver. */
  #leaving<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      const result = this.#scope.leave(() => work(...args));
      return result instanceof Promise ? (result.then((value: unknown) => value) as R) : result;
    };
  }
}

/** Whether a path, relative to a module's folder, is a file of the same package. */
function isOwn(path: string): boolean {
  return !path.startsWith("..") && !path.split("/").includes("node_modules");
}

/** Returns, for example, `spawn of driver mine, of host devstack1, for instance …, on behalf of req-…, begun at 2026-…`. */
export function titleOf({ driver, method, instance, requestId, context, began }: ContainedCall): string {
  return [
    `${method} of driver ${driver}`,
    ...(context === undefined ? [] : [`of host ${context.host}`]),
    ...(instance === undefined ? [] : [`for instance ${instance}`]),
    ...(requestId === undefined ? [] : [`on behalf of ${requestId}`]),
    `begun at ${new Date(began).toISOString()}`,
  ].join(", ");
}

/** Returns the log fields of a call. */
export function fieldsOf({
  driver,
  method,
  instance,
  requestId,
  context,
}: Partial<ContainedCall> & Pick<ContainedCall, "driver">): Readonly<Record<string, string>> {
  return {
    driver,
    ...(context === undefined ? {} : { host: context.host }),
    ...(method === undefined ? {} : { method }),
    ...(instance === undefined ? {} : { instance }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}

function toUnhandledReason({ driver, method }: ContainedCall, kind: UnhandledError["kind"], error: unknown): Error {
  const [rule, found] =
    kind === "rejection"
      ? ["handle every rejection of its own promises", "it left one unhandled"]
      : ["catch what its callbacks throw", "one threw"];
  return new VirtDriverMisbehaved(driver, method, rule, `${found}: ${textOf(error)}`, { cause: error });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
