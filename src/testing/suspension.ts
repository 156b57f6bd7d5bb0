import type { DriverContext, Stream } from "../virt/index.js";
import {
  CHANGES_NOTHING,
  READ_ONLY_PROGRAM_METHODS,
  READ_ONLY_STREAM_METHODS,
  SYNCHRONOUS_METHODS,
} from "./sabotage.js";

/** Lets a driver be suspended at a chosen call of its doors: as by SIGSTOP, nothing goes on until it is resumed. */
export class Suspension {
  #left = Number.POSITIVE_INFINITY;
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};
  #reach: () => void = () => {};

  /** The call numbered `call` from now on, of those that may change something, waits, and all after it. */
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

  /** The doors behind which something is changed: files, HTTP, programs, sockets, and those of the driver's own. */
  over(context: DriverContext): DriverContext {
    const { files, http, processes, sockets } = context;
    const slowAdapter: DriverContext["ownAdapter"] = (adapter, readOnlyMethods = []) =>
      this.#slowed(context.ownAdapter(adapter, readOnlyMethods), new Set(readOnlyMethods));
    return {
      ...context,
      files: this.#slowed(files, CHANGES_NOTHING),
      http: this.#slowed(http, CHANGES_NOTHING),
      processes: this.#slowed(processes, READ_ONLY_PROGRAM_METHODS),
      sockets: this.#slowed(
        { connect: async (...args) => this.#slowed<Stream>(await sockets.connect(...args), READ_ONLY_STREAM_METHODS) },
        READ_ONLY_STREAM_METHODS,
      ),
      ownAdapter: slowAdapter,
      ownDoor: slowAdapter,
    };
  }

  #slowed<Adapter extends object>(adapter: Adapter, readOnlyMethods: ReadonlySet<string | symbol>): Adapter {
    return new Proxy(adapter, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (SYNCHRONOUS_METHODS.has(name)) {
          return member.bind(target);
        }
        return async (...args: unknown[]) => {
          if (!readOnlyMethods.has(name)) {
            this.#left -= 1;
          }
          if (this.#left <= 0) {
            this.#reach();
            await this.#resumed;
          }
          return Reflect.apply(member, target, args);
        };
      },
    });
  }
}
