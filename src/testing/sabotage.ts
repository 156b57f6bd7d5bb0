import type { DriverContext } from "../virt/index.js";

/** What only looks: being killed before it is being killed after what came before. */
export const CHANGES_NOTHING: ReadonlySet<string | symbol> = new Set(["read", "readIfPresent", "list", "stat"]);

/** Lets a driver's way to the world break at a chosen call: as `kill -9` of the agent does, nothing after that gets out. */
export class Sabotage {
  /** Calls that may have changed something since it was armed. */
  calls = 0;
  #fatal = Number.POSITIVE_INFINITY;

  /** The call numbered `fatal` from now on, and all after it, fail. */
  arm(fatal: number): void {
    this.calls = 0;
    this.#fatal = fatal;
  }

  disarm(): void {
    this.#fatal = Number.POSITIVE_INFINITY;
  }

  /** The call was reached. */
  get struck(): boolean {
    return this.calls >= this.#fatal;
  }

  /** The doors behind which something is changed: files and HTTP. */
  over(context: DriverContext): DriverContext {
    return { ...context, files: this.#guard(context.files), http: this.#guard(context.http) };
  }

  #guard<Door extends object>(door: Door): Door {
    return new Proxy(door, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        if (name === "watch") {
          return member.bind(target);
        }
        return (...args: unknown[]) => {
          if (!this.struck && !CHANGES_NOTHING.has(name)) {
            this.calls += 1;
          }
          if (this.struck) {
            return Promise.reject(new Error("sabotage: the agent was killed here"));
          }
          return Reflect.apply(member, target, args);
        };
      },
    });
  }
}
