import type { DriverHost } from "../virt/driver-host.js";
import { DriverMoves } from "../virt/driver-moves.js";

/** Notes which of a driver's methods threw what. */
export class Blame {
  readonly #methods = new WeakMap<object, string>();

  /** The method that threw this error, if one did. */
  of(error: unknown): string | undefined {
    return typeof error === "object" && error !== null ? this.#methods.get(error) : undefined;
  }

  /** @throws the error, of which the first method that it is noted for counts */
  note(method: string, error: unknown): never {
    if (typeof error === "object" && error !== null && !this.#methods.has(error)) {
      this.#methods.set(error, method);
    }
    throw error;
  }

  watched<T extends DriverHost | DriverMoves>(host: T): T {
    return new Proxy(host, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (member instanceof DriverMoves) {
          return this.watched(member);
        }
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
