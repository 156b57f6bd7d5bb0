import type { DriverHost } from "../virt/driver-host.js";
import type { CancelTimer, DriverContext, LifecycleEvent, Stream, Timers } from "../virt/index.js";

type Names = ReadonlySet<string | symbol>;

/** Methods that change nothing: a kill before one equals a kill after the previous call. */
const READ_ONLY_METHODS: Names = new Set(["read", "readBytes", "readIfPresent", "list", "stat"]);

const READ_ONLY_PROGRAM_METHODS: Names = new Set(["look", "ended"]);

const READ_ONLY_STREAM_METHODS: Names = new Set(["connect", "read", "readLine"]);

/** Watches, and the closing of a stream, which also happens when the agent is killed. */
const SYNCHRONOUS_METHODS: Names = new Set(["watch", "close"]);

interface InterfaceCall {
  readonly isReadOnly: boolean;
  /** Whether the call may also fail after it took effect, for example if a program runs but its response is lost. */
  readonly losesResponse: boolean;
}

type AroundCall = (call: InterfaceCall, work: () => unknown) => Promise<unknown>;

/** Wraps all interfaces that can change something: files, HTTP, programs, sockets, and the driver's own. */
function aroundCalls(context: DriverContext, around: AroundCall): DriverContext {
  const wrap = <Adapter extends object>(adapter: Adapter, readOnly: Names, losesResponse = true): Adapter =>
    new Proxy(adapter, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (SYNCHRONOUS_METHODS.has(name)) {
          return member.bind(target);
        }
        const call = { isReadOnly: readOnly.has(name), losesResponse };
        return (...args: unknown[]) => around(call, () => Reflect.apply(member, target, args));
      },
    });
  const { files, http, processes, sockets } = context;
  const wrapAdapter: DriverContext["ownAdapter"] = (adapter, readOnlyMethods = []) =>
    wrap(context.ownAdapter(adapter, readOnlyMethods), new Set(readOnlyMethods));
  const connect: typeof sockets.connect = async (...args) =>
    wrap<Stream>(await sockets.connect(...args), READ_ONLY_STREAM_METHODS);
  return {
    ...context,
    files: wrap(files, READ_ONLY_METHODS, false),
    http: wrap(http, READ_ONLY_METHODS, false),
    processes: wrap(processes, READ_ONLY_PROGRAM_METHODS),
    sockets: wrap({ connect }, READ_ONLY_STREAM_METHODS),
    ownAdapter: wrapAdapter,
    ownDoor: wrapAdapter,
  };
}

/** Cuts off a driver's interfaces at a chosen call: no later call takes effect, as after `kill -9` of the agent. */
export class Sabotage {
  /** Number of calls since {@link arm} that may have changed something. Calls whose response may be lost count twice. */
  calls = 0;
  #fatal = Number.POSITIVE_INFINITY;
  #die: () => void = () => {};

  /**
   * Fails the call numbered `fatal`, counted from now on, and all later ones. @param die is called at that call; it may not
   * return.
   */
  arm(fatal: number, die: () => void = () => {}): void {
    this.calls = 0;
    this.#fatal = fatal;
    this.#die = die;
  }

  disarm(): void {
    this.#fatal = Number.POSITIVE_INFINITY;
  }

  /** Whether the fatal call was reached. */
  get struck(): boolean {
    return this.calls >= this.#fatal;
  }

  over(context: DriverContext): DriverContext {
    return aroundCalls(context, async ({ isReadOnly, losesResponse }, work) => {
      this.#strike(isReadOnly);
      const result = await work();
      if (losesResponse) {
        this.#strike(isReadOnly);
      }
      return result;
    });
  }

  /** @throws if the fatal call was reached */
  #strike(isReadOnly: boolean): void {
    if (!this.struck && !isReadOnly) {
      this.calls += 1;
    }
    if (this.struck) {
      this.#die();
      throw new Error("sabotage: the agent was killed here");
    }
  }
}

/** Suspends a driver at a chosen interface call, as SIGSTOP does, until it is resumed. */
export class Suspension {
  #left = Number.POSITIVE_INFINITY;
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};
  #reach: () => void = () => {};

  /**
   * Suspends the call numbered `call`, counted from now on among the calls that may change something, and all later ones.
   */
  arm(call: number): { readonly reached: Promise<void> } {
    this.#left = call;
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
    return {
      reached: new Promise((resolve) => {
        this.#reach = resolve;
      }),
    };
  }

  resume(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#resume();
  }

  over(context: DriverContext): DriverContext {
    return aroundCalls(context, async ({ isReadOnly }, work) => {
      if (!isReadOnly) {
        this.#left -= 1;
      }
      if (this.#left <= 0) {
        this.#reach();
        await this.#resumed;
      }
      return work();
    });
  }
}

/** Records which method of a driver threw an error. */
export class Blame {
  readonly #methods = new WeakMap<object, string>();

  /** Returns the method that threw this error, if one did. */
  of(error: unknown): string | undefined {
    return typeof error === "object" && error !== null ? this.#methods.get(error) : undefined;
  }

  /** @throws the error; the first method recorded for it counts */
  note(method: string, error: unknown): never {
    if (typeof error === "object" && error !== null && !this.#methods.has(error)) {
      this.#methods.set(error, method);
    }
    throw error;
  }

  watched(host: DriverHost): DriverHost {
    return new Proxy(host, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        return (...args: unknown[]): unknown => {
          const outcome: unknown = Reflect.apply(member, target, args);
          return outcome instanceof Promise
            ? outcome.catch((error: unknown) => this.note(String(name), error))
            : outcome;
        };
      },
    });
  }
}

/** Activity of a driver after it was ended. */
export class Leftovers {
  /** Events that it emitted after {@link end}. */
  readonly events: LifecycleEvent[] = [];
  /** Number of pending timers of its context. */
  timers = 0;
  #ended = false;

  end(): void {
    this.#ended = true;
  }

  over(context: DriverContext): DriverContext {
    const emitEvent = (event: LifecycleEvent): void => {
      if (this.#ended) {
        this.events.push(event);
      }
      context.emitEvent(event);
    };
    return { ...context, emitEvent, timers: this.#counted(context.timers) };
  }

  #counted(timers: Timers): Timers {
    return {
      sleep: async (milliseconds, signal) => {
        this.timers += 1;
        await timers.sleep(milliseconds, signal).finally(() => {
          this.timers -= 1;
        });
      },
      after: (milliseconds, action): CancelTimer => {
        let over = false;
        const end = () => {
          if (!over) {
            this.timers -= 1;
          }
          over = true;
        };
        this.timers += 1;
        const cancel = timers.after(milliseconds, () => {
          end();
          action();
        });
        return () => {
          end();
          cancel();
        };
      },
    };
  }
}
