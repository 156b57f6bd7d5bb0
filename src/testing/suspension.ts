import type { DriverContext } from "../virt/index.js";
import { CHANGES_NOTHING } from "./sabotage.js";

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

  /** The doors behind which something is changed: files and HTTP. */
  over(context: DriverContext): DriverContext {
    return { ...context, files: this.#slowed(context.files), http: this.#slowed(context.http) };
  }

  #slowed<Door extends object>(door: Door): Door {
    return new Proxy(door, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (name === "watch") {
          return member.bind(target);
        }
        return async (...args: unknown[]) => {
          if (!CHANGES_NOTHING.has(name)) {
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
